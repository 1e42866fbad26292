import { TimeSlice } from '#lib/async/time_slice.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import { type Address, parseAddress } from '#lib/mail/address.ts'
import type { NewEmail } from '#lib/sending/new_email.ts'
import type { Lookup } from '#lib/templates/render.ts'
import type { Variables } from '#lib/templates/variables.ts'
import type { Queryable } from '#sql/pool.ts'
import { listSentTemplates, type SentTemplate, type TemplateVariable } from '#sql/templates/template_versions.ts'
import {
  findLinks,
  type ReadHtml,
  type Rendering,
  type ResolvedEmail,
  renderParts,
  sizeOf,
  withPoll,
} from './render_parts.ts'

/**
 * Completes emails from the templates that they name, and renders each once to check that it can be sent. Each gets its
 * result or the ApiError for its caller. Takes one query, or none if no template is named.
 */
export async function resolveTemplates(
  db: Queryable,
  account_id: string,
  emails: NewEmail[],
  readHtml: ReadHtml,
): Promise<(ResolvedEmail | ApiError)[]> {
  const refs = new Set(emails.map(refOf).filter(ref => ref !== null))
  const templates = refs.size > 0 ? await listSentTemplates(db, account_id, [...refs]) : []
  const results: (ResolvedEmail | ApiError)[] = []
  let length = 0
  const slice = new TimeSlice()
  for (const email of emails) {
    const result = await tryToComplete(email, templates, { readHtml, slice })
    length += lengthOf(result)
    results.push(length > MAX_TOGETHER ? new ApiError('validation_error', TOO_LONG) : result)
    if (slice.isOver) await slice.pause()
  }
  return results
}

/** Maximum bytes of content per request: to render a hundred emails of the longest template would take a minute. */
const MAX_TOGETHER = 60_000_000
const TOO_LONG = `The emails of one request must have at most ${MAX_TOGETHER.toLocaleString('en')} bytes of content together.`

function lengthOf(email: ResolvedEmail | ApiError): number {
  if (email instanceof ApiError) return 0
  const { html, text, sizes } = email
  return sizes ? sizes.html + sizes.text : sizeOf(html) + sizeOf(text)
}

async function tryToComplete(
  email: NewEmail,
  templates: SentTemplate[],
  rendering: Rendering,
): Promise<ResolvedEmail | ApiError> {
  try {
    return await complete(email, templates, rendering)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

function refOf({ template_id, template }: NewEmail): string | null {
  return template_id ?? template?.id ?? template?.alias ?? null
}

async function complete(email: NewEmail, templates: SentTemplate[], rendering: Rendering): Promise<ResolvedEmail> {
  const ref = refOf(email)
  // The schema guarantees a sender and a subject if there is no template.
  if (ref === null && !email.variables) return findLinks(withPoll(email as ResolvedEmail), rendering)
  const { template: named, variables, template_id: _, ...fields } = email
  if (ref === null) return renderParts(withPoll(fields as ResolvedEmail), lookupIn(variables ?? {}), rendering)

  const template = templates.find(({ id, alias }) => id === ref || alias === ref)
  if (!template) throw notFound('Template')
  if (template.version_id === null) throw new ApiError('validation_error', 'The template is not published.')
  const given = { ...named?.variables, ...variables }
  requireTypes(given, template.variables)
  return renderParts(
    withPoll({
      ...fields,
      template_id: template.id,
      from: fields.from ?? stored(template.sender) ?? missing('from'),
      subject: fields.subject ?? template.subject ?? missing('subject'),
      reply_to: fields.reply_to ?? template.reply_to.map(address => parseAddress(address) as Address),
      html: template.html,
      text: template.text,
      content_id: template.version_id,
    }),
    lookupIn(given, template.variables),
    rendering,
  )
}

function stored(address: string | null): Address | null {
  return address === null ? null : parseAddress(address)
}

function missing(field: string): never {
  throw new ApiError('missing_required_field', `Missing \`${field}\` field: the template has none either.`)
}

/**
 * Checks the types of variables. A number is allowed for a string, since variables that were derived from placeholders
 * are all strings.
 */
export function requireTypes(given: Variables, declared: TemplateVariable[]): void {
  for (const { key, type } of declared) {
    if (type === 'string' || !Object.hasOwn(given, key) || typeof given[key] === type) continue
    throw new ApiError('validation_error', `\`variables.${key}\` must be a ${type}.`)
  }
}

/** Returns a lookup of the given values, then of the fallbacks of the template's variables. */
export function lookupIn(given: Variables, declared: TemplateVariable[] = []): Lookup {
  const fallbacks = new Map(declared.map(({ key, fallback_value }) => [key, fallback_value ?? undefined]))
  return key => (Object.hasOwn(given, key) ? given[key] : fallbacks.get(key))
}
