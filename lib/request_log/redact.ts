import { hash } from 'node:crypto'
import { hideApiKeys } from '#lib/api_key.ts'

/** Of a body as JSON, in UTF-8. */
export const MAX_BYTES = 64 * 1024

/** Of one string, in UTF-16 units: a long html leaves room for what follows it. */
const MAX_STRING = 16 * 1024

const MAX_DEPTH = 100

const REDACTED = '"[redacted]"'
const CLIPPED = '"[clipped]"'

/** What must be left to write any value: the longer of the two that stand for one. */
const VALUE = REDACTED.length

/** What a list or an object sets aside when it begins: its brackets, and the mark that the rest is clipped. */
const BRACKETS = 2
const MARK = `,${CLIPPED}:true`.length

type Budget = { left: number; levels: number }

/**
 * What is kept of a body, as JSON: without what is secret by its name, at any depth; attachments by size and hash; long
 * strings clipped, and the whole clipped to 64 KiB. Takes no longer than that needs, however large the body is, but for
 * the hashes.
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

/** Says that the rest is clipped, in what was set aside for it. */
function mark(comma: string, json: string, budget: Budget): string {
  budget.left -= MARK
  return comma + json
}

function writeString(text: string, budget: Budget): string {
  const json = JSON.stringify(hideUrlSecrets(clip(text, MAX_STRING)))
  if (Buffer.byteLength(json) <= budget.left) return spend(json, budget)
  // In JSON a unit takes 6 bytes at most (\u0001). What is too short for even that is left to `spend`.
  const length = Math.max(0, Math.floor((budget.left - 50) / 6))
  return spend(JSON.stringify(hideUrlSecrets(clip(text, length))), budget)
}

function clip(text: string, length: number): string {
  // What is cut in the middle of a character is no text.
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}… [${text.length} characters]`
}

function spend(json: string, budget: Budget): string {
  const bytes = Buffer.byteLength(json)
  if (bytes > budget.left) return spend(CLIPPED, budget)
  budget.left -= bytes
  return json
}

/** Of a URL, such as an attachment's path, the password and the query: that of a signed one opens the file to anybody. */
function hideUrlSecrets(text: string): string {
  if (!/^\s*https?:/i.test(text)) return text
  return text.replace(/^(\s*https?:[/\\]*)[^/\\?#]*@/i, '$1[redacted]@').replace(/\?.*/s, '?[redacted]')
}

const SECRET = /secret|passw|passphrase|token|credential|authorization|cookie/i

/** Who an account at a DNS provider belongs to: no business of those who read the log either. */
const ACCOUNT = /^(?:api[-_ ]?user|user[-_ ]?name|pwd|auth)$/i

const CONTENT = /^content$/i

/**
 * `key` is also how properties, variables and steps are named, which have a type, and filters, which have an operator;
 * beside a secret it is that of a DNS provider.
 */
function isSecret(name: string, fields: Fields): boolean {
  if (name === 'key' && ('type' in fields || 'operator' in fields) && !('secret' in fields)) return false
  if (/keys?$/i.test(name)) return !/public/i.test(name)
  return SECRET.test(name) || ACCOUNT.test(name)
}

/** One character is sought, with no way back: a pattern of the whole would take hours for some content. */
const NOT_BASE64 = /[^A-Za-z0-9+/=_\s-]/

/** An attachment comes in base64, and is known by the hash of the file. */
function describe(content: string): string {
  const bytes = Buffer.from(content, NOT_BASE64.test(content) ? 'utf8' : 'base64')
  return JSON.stringify({ sha256: hash('sha256', bytes), size: bytes.length })
}
