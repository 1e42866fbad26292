import { hash } from 'node:crypto'
import { hideApiKeys } from '#lib/api_key.ts'

/** Maximum bytes of a body as JSON, in UTF-8. */
export const MAX_BYTES = 64 * 1024

/** Most UTF-16 units of one string, so that a long html leaves room for the fields after it. */
const MAX_STRING = 16 * 1024

const MAX_DEPTH = 100

const REDACTED = '"[redacted]"'
const CLIPPED = '"[clipped]"'

/** Room for any value: the longer of the two placeholders. */
const VALUE = REDACTED.length

/** Bytes that a list or an object reserves when it begins: its brackets, and the mark for a clipped rest. */
const BRACKETS = 2
const MARK = `,${CLIPPED}:true`.length

type Budget = { left: number; levels: number }

/**
 * Returns the JSON of a body for the log: without members whose names suggest a secret, at any depth; attachments by size and
 * hash; long strings clipped, and the whole clipped to 64 KiB. The time depends on the result, not on the size of the body,
 * except for the hashes.
 */
export function redactBody(body: unknown): string {
  return hideApiKeys(write(body, { left: MAX_BYTES, levels: MAX_DEPTH }))
}

function write(value: unknown, budget: Budget): string {
  if (typeof value === 'string') return writeString(value, budget)
  if (typeof value !== 'object' || value === null) return spend(JSON.stringify(value) ?? 'null', budget)
  if ('toJSON' in value && typeof value.toJSON === 'function') return write(value.toJSON(), budget)
  if (budget.levels === 0 || budget.left < BRACKETS + MARK) return spend(CLIPPED, budget)

  budget.levels--
  budget.left -= BRACKETS + MARK
  const members = Array.isArray(value) ? writeItems(value, budget) : writeFields(value as Fields, budget)
  budget.levels++
  budget.left += MARK
  return Array.isArray(value) ? `[${members}]` : `{${members}}`
}

function writeItems(items: unknown[], budget: Budget): string {
  let text = ''
  for (const item of items) {
    const comma = text && ','
    if (budget.left < comma.length + VALUE) return text + mark(comma, CLIPPED, budget)
    budget.left -= comma.length
    text += comma + write(item, budget)
  }
  return text
}

type Fields = Record<string, unknown>

function writeFields(fields: Fields, budget: Budget): string {
  let text = ''
  for (const name of Object.keys(fields)) {
    const value = fields[name]
    if (value === undefined) continue
    const comma = text && ','
    const start = name.length < budget.left ? `${comma}${JSON.stringify(name)}:` : ''
    const isShort = start !== '' && Buffer.byteLength(start) + VALUE <= budget.left
    if (!isShort) return text + mark(comma, `${CLIPPED}:true`, budget)
    text += spend(start, budget) + writeField(name, value, fields, budget)
  }
  return text
}

function writeField(name: string, value: unknown, fields: Fields, budget: Budget): string {
  if (value !== null && isSecret(name, fields)) return spend(REDACTED, budget)
  if (typeof value === 'string' && CONTENT.test(name)) return spend(describe(value), budget)
  return write(value, budget)
}

/** Writes the mark for a clipped rest, in the reserved bytes. */
function mark(comma: string, json: string, budget: Budget): string {
  budget.left -= MARK
  return comma + json
}

function writeString(text: string, budget: Budget): string {
  const json = JSON.stringify(hideUrlSecrets(clip(text, MAX_STRING)))
  if (Buffer.byteLength(json) <= budget.left) return spend(json, budget)
  // In JSON a unit takes at most 6 bytes (\u0001). If not even a clipped string fits, `spend` writes CLIPPED.
  const length = Math.max(0, Math.floor((budget.left - 50) / 6))
  return spend(JSON.stringify(hideUrlSecrets(clip(text, length))), budget)
}

function clip(text: string, length: number): string {
  // A cut in the middle of a surrogate pair is not well-formed.
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}… [${text.length} characters]`
}

function spend(json: string, budget: Budget): string {
  const bytes = Buffer.byteLength(json)
  if (bytes > budget.left) return spend(CLIPPED, budget)
  budget.left -= bytes
  return json
}

/** Token of the link in an invitation. Whoever has the link can become a member. */
const JOIN_TOKEN = /(?<=\/join\/)[\w-]{43}/

/**
 * Redacts the password and the query of a URL, such as an attachment's path: a signed query would open the file to anybody.
 * Redacts the token of an invitation too.
 */
function hideUrlSecrets(text: string): string {
  if (!/^\s*https?:/i.test(text)) return text
  return text
    .replace(/^(\s*https?:[/\\]*)[^/\\?#]*@/i, '$1[redacted]@')
    .replace(/\?.*/s, '?[redacted]')
    .replace(JOIN_TOKEN, '[redacted]')
}

const SECRET = /secret|passw|passphrase|token|credential|authorization|cookie/i

/** The user of an account at a DNS provider, which readers of the log need not know. */
const ACCOUNT = /^(?:api[-_ ]?user|user[-_ ]?name|pwd|auth)$/i

const CONTENT = /^content$/i

/**
 * Fields beside a `key` that is only a name: of a property, variable or step, a filter, an option of a poll, or a variant of an
 * A/B test.
 */
const NAMED = ['type', 'operator', 'label', 'subject', 'preview_text', 'previewText', 'from', 'html', 'text']

/** `key` beside a secret is the key of a DNS provider. */
function isSecret(name: string, fields: Fields): boolean {
  if (name === 'key' && NAMED.some(field => field in fields) && !('secret' in fields)) return false
  if (/keys?$/i.test(name)) return !/public/i.test(name)
  return SECRET.test(name) || ACCOUNT.test(name)
}

/** A pattern for one character needs no backtracking; one for the whole text would take hours for some content. */
const NOT_BASE64 = /[^A-Za-z0-9+/=_\s-]/

/** Describes an attachment, which is base64, by the hash and size of the file. */
function describe(content: string): string {
  const bytes = Buffer.from(content, NOT_BASE64.test(content) ? 'utf8' : 'base64')
  return JSON.stringify({ sha256: hash('sha256', bytes), size: bytes.length })
}
