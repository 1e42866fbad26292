/**
 * The only message for all failures before an allowed server accepted the request. A rejected address, a name that does not
 * resolve and a closed port must look the same, or callers could scan our network by reading errors.
 */
const UNREACHABLE = 'The URL could not be fetched: its host does not respond, or is not public and not in FETCH_ALLOW.'
/** Only for a server to which a connection was allowed and made. */
const LATE = 'The server did not respond in time.'

/**
 * There is no response, or not the whole of it. `reason` is for the caller who gave the URL. `detail` is for the operator's log
 * only, since it names addresses and ports. `is_permanent`: another try would fail the same way. It decides about retries and is
 * not shown to callers either.
 */
export class FetchError extends Error {
  readonly reason: string
  readonly detail: string
  readonly is_permanent: boolean

  constructor(reason: string, detail: string, options: { is_permanent: boolean; cause?: unknown }) {
    super(reason, { cause: options.cause })
    this.name = 'FetchError'
    this.reason = reason
    this.detail = detail
    this.is_permanent = options.is_permanent
  }
}

/** The policy forbids the URL. */
export function refused(detail: string): FetchError {
  return new FetchError(UNREACHABLE, detail, { is_permanent: true })
}

/** There was no name, no connection, no TLS, no HTTP response, or none in time. A retry may succeed. */
export function unreachable(detail: string, cause?: unknown): FetchError {
  return new FetchError(UNREACHABLE, detail, { is_permanent: false, cause })
}

/** The connection was made, but the server did not respond to the request, because of a timeout or for another reason. */
export function unanswered(host: string, error: unknown): FetchError {
  const reason = isTimeout(error) ? LATE : UNREACHABLE
  return new FetchError(reason, `${host}: ${detailOf(error)}`, { is_permanent: false, cause: error })
}

function isTimeout(error: unknown): boolean {
  const { name, cause } = error as Error
  return name === 'TimeoutError' || (cause instanceof Error && isTimeout(cause))
}

/** Returns one line for an error of a resolver, a socket or a parser. */
export function detailOf(error: unknown): string {
  const { name, code, message, cause } = error as Error & { code?: unknown }
  if (name === 'AbortError' && cause) return detailOf(cause)
  return typeof code === 'string' ? `${code} ${message}` : message
}
