import type { MailbrookError } from '../error.ts'

/** No wait is longer. If a server asks for a longer one, the call is not retried. */
const LONGEST_WAIT_MS = 60_000
const FIRST_WAIT_MS = 500

/** Errors of the API which mean that nothing was done and a retry may succeed. */
const NOTHING_DONE = new Set([
  'rate_limit_exceeded',
  'concurrent_idempotent_requests',
  'contacts_busy',
  'contacts_timeout',
  'sending_service_unavailable',
  'sending_configuration_unavailable',
])

/** Codes of failures to connect: no byte of the request was sent. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/**
 * Tells whether a failed request may be sent again. `isRepeatable`: its method or its idempotency key makes sure that it takes
 * effect at most once, however often it is sent.
 */
export function mayRetry(error: MailbrookError, isRepeatable: boolean): boolean {
  if (error.statusCode === 0) return isRepeatable || neverSent(error)
  if (NOTHING_DONE.has(error.name)) return true
  // The server has stored this response with the key, and would repeat it.
  if (error.name === 'batch_incomplete') return false
  return isRepeatable && [500, 502, 503, 504].includes(error.statusCode ?? 0)
}

/** Tells whether a failed request may have taken effect all the same. */
export function mayHaveTakenEffect(error: MailbrookError): boolean {
  return error.statusCode === 0 ? !neverSent(error) : !NOTHING_DONE.has(error.name)
}

type SystemError = { code?: string; syscall?: string }

function neverSent({ cause }: MailbrookError): boolean {
  const error = (cause ?? {}) as SystemError & { cause?: SystemError }
  const { code = '', syscall } = error.code === undefined ? (error.cause ?? {}) : error
  // A connection that was open fails with the same codes, for example if the route to the server is lost.
  return NEVER_SENT.has(code) && syscall !== 'read' && syscall !== 'write'
}

/** Returns the milliseconds before the next try, or null if the server asks for more than LONGEST_WAIT_MS. */
export function waitBefore(error: MailbrookError, retry: number): number | null {
  const asked = retryAfter(error.headers.get('retry-after'))
  if (asked !== null) return asked <= LONGEST_WAIT_MS ? asked : null
  return Math.random() * Math.min(FIRST_WAIT_MS * 2 ** retry, LONGEST_WAIT_MS)
}

/** Reads `Retry-After`, which has seconds or a date (RFC 9110, section 10.2.3), as milliseconds from now. */
function retryAfter(header: string | null): number | null {
  if (!header) return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/** Waits. Throws the reason of the signal if it is aborted. */
export async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
