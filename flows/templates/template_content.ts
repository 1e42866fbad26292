import { isDeepStrictEqual } from 'node:util'
import { runInSlices, TimeSlice } from '#lib/async/time_slice.ts'
import { now } from '#lib/clock.ts'
import { ApiError } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { formatAddress } from '#lib/mail/address.ts'
import type { TemplateChange } from '#lib/templates/new_template.ts'
import { listVariableKeys } from '#lib/templates/render.ts'
import { MAX_VARIABLES } from '#lib/templates/variables.ts'
import type { TemplateContent, TemplateVariable } from '#sql/templates/template_versions.ts'

export const EMPTY: TemplateContent = {
  sender: null,
  subject: null,
  reply_to: [],
  html: '',
  text: null,
  variables: [],
}

/**
 * Returns the content after a change; fields that are not given stay as they were. @throws {ApiError} 422 for too many
 * variables
 */
export async function changeContent(before: TemplateContent, fields: TemplateChange): Promise<TemplateContent> {
  const { from, reply_to, html = before.html, subject = before.subject, text = before.text } = fields
  const is_derived =
    [fields.html, fields.subject, fields.text].some(part => part !== undefined) || fields.variables === null
  // null: the given ones go, and with them their types and fallback values.
  const derived = () => derive(fields.variables === null ? [] : before.variables, [subject ?? '', html, text ?? ''])
  return {
    sender: from === undefined ? before.sender : from && formatAddress(from),
    reply_to: reply_to === undefined ? before.reply_to : (reply_to ?? []).map(formatAddress),
    ...{ subject, html, text },
    variables: identify(before.variables, fields.variables ?? (is_derived ? await derived() : before.variables)),
  }
}

/** `before` may have further members, such as those of its version. */
export function isSame(before: TemplateContent, content: TemplateContent): boolean {
  const { sender, subject, reply_to, html, text, variables } = before
  return isDeepStrictEqual({ sender, subject, reply_to, html, text, variables }, content)
}

type Variable = Pick<TemplateVariable, 'key' | 'type' | 'fallback_value'>

/**
 * Returns a variable per placeholder. A variable that no placeholder names any more is kept only if it differs from a
 * derived one.
 */
async function derive(before: TemplateVariable[], sources: string[]): Promise<Variable[]> {
  const keys = await runInSlices(listVariableKeys(...sources), new TimeSlice())
  const kept = before.filter(
    ({ key, type, fallback_value }) => keys.includes(key) || type !== 'string' || fallback_value !== null,
  )
  const added = keys.filter(key => !before.some(variable => variable.key === key))
  return [...kept, ...added.map(key => ({ key, type: 'string' as const, fallback_value: null }))]
}

/** Returns variables with ids and times; a variable keeps its id as long as its key stays the same. */
function identify(before: TemplateVariable[], variables: Variable[]): TemplateVariable[] {
  if (variables.length > MAX_VARIABLES) {
    throw new ApiError(
      'validation_error',
      `A template can have at most ${MAX_VARIABLES} variables; this one would have ${variables.length}.`,
    )
  }
  const time = now()
  return variables.map(({ key, type, fallback_value }) => {
    const old = before.find(variable => variable.key === key)
    if (old?.type === type && old.fallback_value === fallback_value) return old
    return { id: old?.id ?? newId(), key, type, fallback_value, created_at: old?.created_at ?? time, updated_at: time }
  })
}
