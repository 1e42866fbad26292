import { formatAddress } from '../lib/address.ts'
import { now } from '../lib/clock.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import { newId } from '../lib/ids.ts'
import { MAX_NAME, type NewTemplate, NOT_RENDERED, type TemplateChange } from '../lib/new_template.ts'
import { hasPlaceholder, listVariableKeys } from '../lib/template.ts'
import { inTurns, Turns } from '../lib/turns.ts'
import { MAX_VARIABLES } from '../lib/variables.ts'
import type { Pool } from '../sql/pool.ts'
import { isDuplicate } from '../sql/retry.ts'
import {
  findNewestVersion,
  insertVersion,
  lockTemplate,
  type TemplateContent,
  type TemplateVariable,
  updateVersion,
} from '../sql/template_versions.ts'
import { insertTemplate, type Published, publishNewest, updateTemplate } from '../sql/templates.ts'

const EMPTY: TemplateContent = { sender: null, subject: null, reply_to: [], html: '', text: null, variables: [] }

/** Stores a new draft; answers its id. @throws {ApiError} 409 when the alias is taken */
export async function createTemplate(pool: Pool, account_id: string, template: NewTemplate): Promise<string> {
  const { name, alias = null } = template
  return insertDraft(pool, { account_id, name, alias }, await change(EMPTY, template))
}

/**
 * Makes a draft of a template's newest version, named `Copy of …` unless told otherwise; answers its id.
 *
 * @throws {ApiError} 404
 */
export async function copyTemplate(pool: Pool, account_id: string, ref: string, name?: string | null): Promise<string> {
  const found = await findNewestVersion(pool, account_id, ref)
  if (!found) throw notFound('Template')
  const time = now()
  const variables = found.variables.map(variable => ({ ...variable, id: newId(), created_at: time, updated_at: time }))
  const copy = { account_id, name: name ?? `Copy of ${found.name}`.slice(0, MAX_NAME).toWellFormed(), alias: null }
  const { sender, subject, reply_to, html, text } = found
  return insertDraft(pool, copy, { sender, subject, reply_to, html, text, variables })
}

/**
 * Changes a template's newest version, or begins another when that one is published; answers the template's id. A name
 * and an alias are of no version: they hold at once.
 *
 * @throws {ApiError} 404, or 409 when the alias is taken
 */
export async function changeTemplate(
  pool: Pool,
  account_id: string,
  ref: string,
  fields: TemplateChange,
): Promise<string> {
  const changed = pool.transaction(async tx => {
    await lockTemplate(tx, account_id, ref)
    const found = await findNewestVersion(tx, account_id, ref)
    if (!found) throw notFound('Template')
    const { id } = found
    const is_new = found.is_published && CONTENT.some(field => fields[field] !== undefined)
    const number = is_new ? found.number + 1 : found.number
    const { name = found.name, alias = found.alias } = fields
    await updateTemplate(tx, { account_id, id, name, alias, number })
    const version = { account_id, template_id: id, number, ...(await change(found, fields)) }
    if (is_new) await insertVersion(tx, { ...version, id: newId() })
    else if (!found.is_published) await updateVersion(tx, version)
    return id
  })
  return changed.catch(aliasError)
}

/** Makes the newest version the one that is sent. @throws {ApiError} 404, or 422 when it could not be sent as it is meant */
export async function publishTemplate(pool: Pool, account_id: string, ref: string): Promise<Published> {
  const published = await pool.transaction(async tx => {
    await lockTemplate(tx, account_id, ref)
    const found = await findNewestVersion(tx, account_id, ref)
    if (found) requireRendered(found)
    return publishNewest(tx, account_id, ref)
  })
  if (!published) throw notFound('Template')
  return published
}

/** Templates were stored that have placeholders where none is replaced. */
function requireRendered({ sender, reply_to }: TemplateContent): void {
  for (const [field, texts] of Object.entries({ from: [sender ?? ''], reply_to })) {
    if (texts.some(hasPlaceholder))
      throw new ApiError('validation_error', `Invalid \`${field}\` field: ${NOT_RENDERED}.`)
  }
}

async function insertDraft(
  pool: Pool,
  template: { account_id: string; name: string; alias: string | null },
  content: TemplateContent,
): Promise<string> {
  const id = newId()
  const version = { account_id: template.account_id, template_id: id, number: 1, ...content, id: newId() }
  const inserted = pool.transaction(async tx => {
    await insertTemplate(tx, { ...template, id })
    await insertVersion(tx, version)
    return id
  })
  return inserted.catch(aliasError)
}

function aliasError(error: unknown): never {
  if (!isDuplicate(error)) throw error
  const message = 'Invalid `alias` field: another template has this alias.'
  throw new ApiError('validation_error', message, { statusCode: 409, cause: error })
}

const CONTENT = ['from', 'subject', 'reply_to', 'html', 'text', 'variables'] as const

/** What is left out stays as it was. */
async function change(before: TemplateContent, fields: TemplateChange): Promise<TemplateContent> {
  const { from, reply_to, html = before.html, subject = before.subject, text = before.text } = fields
  const is_rewritten = fields.html !== undefined || fields.subject !== undefined || fields.text !== undefined
  const derived = () => derive(before.variables, [subject ?? '', html, text ?? ''])
  return {
    sender: from === undefined ? before.sender : from && formatAddress(from),
    reply_to: reply_to === undefined ? before.reply_to : (reply_to ?? []).map(formatAddress),
    ...{ subject, html, text },
    variables: identify(before.variables, fields.variables ?? (is_rewritten ? await derived() : before.variables)),
  }
}

type Variable = Pick<TemplateVariable, 'key' | 'type' | 'fallback_value'>

/** A variable for each placeholder. One that is no longer named is kept only if it says more than a derived one would. */
async function derive(before: TemplateVariable[], sources: string[]): Promise<Variable[]> {
  const keys = await inTurns(listVariableKeys(...sources), new Turns())
  const kept = before.filter(
    ({ key, type, fallback_value }) => keys.includes(key) || type !== 'string' || fallback_value !== null,
  )
  const added = keys.filter(key => !before.some(variable => variable.key === key))
  return [...kept, ...added.map(key => ({ key, type: 'string' as const, fallback_value: null }))]
}

/** With ids and times: a variable is the same one as long as its key is. */
function identify(before: TemplateVariable[], variables: Variable[]): TemplateVariable[] {
  if (variables.length > MAX_VARIABLES) {
    throw new ApiError(
      'validation_error',
      `A template has ${MAX_VARIABLES} variables at most, this one would have ${variables.length}.`,
    )
  }
  const time = now()
  return variables.map(({ key, type, fallback_value }) => {
    const old = before.find(variable => variable.key === key)
    if (old?.type === type && old.fallback_value === fallback_value) return old
    return { id: old?.id ?? newId(), key, type, fallback_value, created_at: old?.created_at ?? time, updated_at: time }
  })
}
