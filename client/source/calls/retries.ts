import type { MailbrookError } from '../error.ts'

/** Longer waits that a server asks for are left to the caller. */
const LONGEST_WAIT_MS = 60_000
const FIRST_WAIT_MS = 500

/** Errors of the API that say that nothing was done, and that later it may be. */
const NOTHING_DONE = new Set([
  'rate_limit_exceeded',
  'concurrent_idempotent_requests',
  'contacts_busy',
  'contacts_timeout',
  'sending_service_unavailable',
  'sending_configuration_unavailable',
])

/** Failures to connect: no byte of the request has left. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/**
 * Tells whether a request that failed may be sent again. `isRepeatable`: it takes effect once however often it is sent, by its
 * method or by its idempotency key.
 */
export function mayRetry(error: MailbrookError, isRepeatable: boolean): boolean {
  if (error.statusCode === 0) return isRepeatable || neverSent(error)
  if (NOTHING_DONE.has(error.name)) return true
  // Its response is kept with the key: it would come again.
  if (error.name === 'batch_incomplete') return false
  return isRepeatable && [500, 502, 503, 504].includes(error.statusCode ?? 0)
}

function neverSent({ cause }: MailbrookError): boolean {
  const { code, cause: inner } = (cause ?? {}) as { code?: string; cause?: { code?: string } }
  return NEVER_SENT.has(code ?? inner?.code ?? '')
}

/** Milliseconds before the next try; null: the server asks for more time than a call should take. */
export function waitBefore(error: MailbrookError, retry: number): number | null {
  const asked = retryAfter(error.headers.get('retry-after'))
  if (asked !== null) return asked <= LONGEST_WAIT_MS ? asked : null
  return Math.random() * FIRST_WAIT_MS * 2 ** retry
}

/** Seconds, or a date (RFC 9110, section 10.2.3); in milliseconds from now. */
function retryAfter(header: string | null): number | null {
  if (!header) return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/** Waits, unless the signal is aborted: then it throws the signal's reason. */
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
