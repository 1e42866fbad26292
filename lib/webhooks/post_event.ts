import { now } from '#lib/clock.ts'
import type { Connections } from '#lib/net/fetch/connections.ts'
import type { ShortResponse } from '#lib/net/fetch/short_request.ts'
import { FetchError } from '#lib/net/fetch_safely.ts'
import { parseRetryAfter } from './retry.ts'
import type { SignEvent } from './signature.ts'

/** An event to send to an endpoint. `body`: the JSON as the bytes that are signed and sent. */
export type OutgoingEvent = { id: string; endpoint: string; body: Buffer; sign: SignEvent }

export type Attempt = {
  is_success: boolean
  /** The endpoint wants no more events (410). */
  is_gone: boolean
  /** Null if there was no HTTP response. */
  status: number | null
  ms: number
  /** For the owner of the webhook; null on success. */
  error: string | null
  /** Why there was no response, for the operator's log only; null if there was one. */
  detail: string | null
  /** The beginning of the response body. */
  response: string | null
  started_at: Date
  /** Seconds that the endpoint asked us to wait before the next attempt; 0 if it did not ask. */
  patience: number
  /** There was no response within nearly all of its time. */
  is_hung: boolean
}

/** Time for one attempt, from the DNS look-up to the response. */
export const ATTEMPT_MS = 15_000
/** An attempt without a response has hung if it took this share of its time. */
const HUNG = 0.9
const MAX_READ = 64 * 1024
const MAX_KEPT = 1024
const HEADERS = { 'content-type': 'application/json', 'user-agent': 'Mailbrook-webhooks/1' }

/** Posts an event once, signed with the current time. Failures are returned too. @throws if the connections were closed */
export async function postEvent(
  connections: Connections,
  { id, endpoint, body, sign }: OutgoingEvent,
  deadline_ms: number = ATTEMPT_MS,
): Promise<Attempt> {
  const started_at = now()
  const start = performance.now()
  const headers = { ...HEADERS, ...sign({ id, body }, started_at) }
  const request = { url: endpoint, method: 'POST' as const, headers, body, max_bytes: MAX_READ, deadline_ms }
  const answer = await connections.ask(request).catch(error => {
    if (error instanceof FetchError) return error
    throw error
  })
  const ms = Math.round(performance.now() - start)
  return { ...judge(answer), ms, is_hung: answer instanceof FetchError && ms >= HUNG * deadline_ms, started_at }
}

function judge(answer: ShortResponse | FetchError): Omit<Attempt, 'ms' | 'is_hung' | 'started_at'> {
  if (answer instanceof FetchError) {
    const { reason: error, detail } = answer
    return { is_success: false, is_gone: false, status: null, error, detail, response: null, patience: 0 }
  }
  const { status, headers, body } = answer
  const is_success = status >= 200 && status < 300
  const is_redirect = status >= 300 && status < 400
  const why = `The endpoint responded with ${status}${is_redirect ? '; redirects are not followed' : ''}.`
  return {
    is_success,
    is_gone: status === 410,
    status,
    error: is_success ? null : why,
    detail: null,
    response: body && readable(body),
    patience: is_success ? 0 : parseRetryAfter(headers['retry-after']),
  }
}

/** Returns text that Postgres can store, with U+FFFD for invalid UTF-8 and NUL. */
function readable(body: Buffer): string {
  return body.subarray(0, MAX_KEPT).toString().replaceAll('\0', '\uFFFD')
}
