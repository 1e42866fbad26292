import { clientError, MailbrookError } from '../error.ts'

/**
 * Encodes the body of a request: a file as a form, everything else as JSON, with bytes as base64.
 * @throws {MailbrookError} `client_error` if it has a value that JSON cannot have
 */
export function encodeBody(body: unknown): { body: string | FormData; content_type: string | null } {
  const isForm = typeof body === 'object' && body !== null && Object.values(body).some(value => value instanceof Blob)
  // fetch sets the content type with the boundary itself.
  return isForm
    ? { body: toForm(body as object), content_type: null }
    : { body: toJson(body), content_type: 'application/json' }
}

function toForm(fields: object): FormData {
  const form = new FormData()
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)
  // The file comes last, so that the server knows all other fields before it arrives.
  const [files, texts] = [
    given.filter(([, value]) => value instanceof Blob),
    given.filter(([, value]) => !(value instanceof Blob)),
  ]
  for (const [name, value] of texts) form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
  for (const [name, value] of files) form.append(name, value)
  return form
}

function toJson(body: unknown): string {
  try {
    return JSON.stringify(body, encodeValue)
  } catch (error) {
    if (error instanceof MailbrookError) throw error
    throw clientError(`The body cannot be written as JSON: ${error instanceof Error ? error.message : error}`)
  }
}

/** Replaces bytes by base64. Reads them from `this`, since `value` already has the JSON form of a Buffer. */
function encodeValue(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const given = this[key]
  // The JSON of an invalid date, also of date libraries, and of NaN is null: the email would be sent at once.
  if (value === null && given !== null) throw clientError(`\`${key}\` is an invalid date, which JSON cannot have.`)
  if (typeof value === 'number' && !Number.isFinite(value))
    throw clientError(`\`${key}\` is ${value}, which JSON cannot have.`)
  // A Uint8Array of another realm is not an instance of this one.
  return ArrayBuffer.isView(given) ? toBase64(given) : value
}

/** Bytes per call of fromCharCode, which takes each byte as an argument; divisible by 3, so that the parts can be joined. */
const CHUNK = 24_576

function toBase64({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength)
  let text = ''
  for (let n = 0; n < bytes.length; n += CHUNK) text += btoa(String.fromCharCode(...bytes.subarray(n, n + CHUNK)))
  return text
}
