import { clientError, MailbrookError } from './error.ts'

/** The body of a request to a webhook. */
export type WebhookPayload = {
  /** The same for every attempt: ignore an id that you have processed. */
  id: string
  type: string
  created_at: string
  data: Record<string, unknown>
}

type HeaderMap = Headers | Record<string, string | string[] | undefined>

/** Older requests are rejected, since somebody may have recorded them and sent them again. */
const TOLERANCE_SECONDS = 300

/**
 * Verifies that a request came from Mailbrook, by either of its two signatures, and returns its body.
 * @param body The raw body, before anything parses it
 * @param secret The signing secret; a list of both while one is being rotated
 * @throws {MailbrookError} `invalid_signature` if the signature or the time is wrong; `client_error` without a raw body or a secret
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: HeaderMap,
  secret: string | string[],
  { tolerance = TOLERANCE_SECONDS }: { tolerance?: number | undefined } = {},
): Promise<WebhookPayload> {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  // Frameworks such as Express parse JSON before a handler gets it.
  if (!ArrayBuffer.isView(bytes))
    throw clientError('The body must be the raw body of the request, as text or bytes, before anything parses it.')
  const read = (name: string) => headerOf(headers, name)
  const isStandard = read('webhook-signature') !== null
  const timestamp = read(isStandard ? 'webhook-timestamp' : 'x-service-timestamp')
  if (!timestamp || !/^\d+$/.test(timestamp)) throw invalid('The request has no signature headers.')
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > tolerance)
    throw invalid('The request is too old, or its time is in the future.')
  const secrets = [secret].flat()
  if (secrets.length === 0 || secrets.some(one => !one)) throw clientError('A signing secret is needed.')
  for (const one of secrets) {
    const isValid = isStandard
      ? await fitsStandard(one, read, timestamp, bytes)
      : await fitsOwn(one, read, timestamp, bytes)
    if (isValid) return JSON.parse(new TextDecoder().decode(bytes))
  }
  throw invalid('The signature is wrong.')
}

type Read = (name: string) => string | null

/** Checks the header of Standard Webhooks: a list of `v1,BASE64`, of which one must match. */
async function fitsStandard(secret: string, read: Read, timestamp: string, body: Uint8Array): Promise<boolean> {
  const key = fromBase64(secret.replace(/^whsec_/, ''))
  if (!key) return false
  const signed = concat(`${read('webhook-id') ?? ''}.${timestamp}.`, body)
  for (const signature of (read('webhook-signature') ?? '').split(' ')) {
    const given = signature.startsWith('v1,') ? fromBase64(signature.slice(3)) : null
    if (given && (await fits(key, given, signed))) return true
  }
  return false
}

async function fitsOwn(secret: string, read: Read, timestamp: string, body: Uint8Array): Promise<boolean> {
  const hex = read('x-service-signature') ?? ''
  if (!/^([0-9a-f]{2})+$/.test(hex)) return false
  const given = Uint8Array.from(hex.match(/../g) ?? [], byte => Number.parseInt(byte, 16))
  return fits(new TextEncoder().encode(secret), given, concat(`${timestamp}.`, body))
}

/** Compares in constant time. */
async function fits(
  key: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  return crypto.subtle.verify('HMAC', imported, signature, signed)
}

function headerOf(headers: HeaderMap, name: string): string | null {
  if (typeof (headers as Headers).get === 'function') return (headers as Headers).get(name)
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return (Array.isArray(found) ? found[0] : found) ?? null
}

function concat(text: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const start = new TextEncoder().encode(text)
  const all = new Uint8Array(start.length + body.length)
  all.set(start)
  all.set(body, start.length)
  return all
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0))
    return bytes.length > 0 ? bytes : null
  } catch {
    return null
  }
}

function invalid(message: string): MailbrookError {
  return new MailbrookError(null, 'invalid_signature', message)
}
