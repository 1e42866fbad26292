/**
 * The one text for whatever went wrong before an allowed server took the request: an address that is refused, a name that
 * does not resolve and a port that is closed must look alike, or the caller scans our network by reading errors.
 */
const UNREACHABLE = 'The URL could not be fetched: its host does not answer, or is not public and not in FETCH_ALLOW.'
/** Only of a server that may be connected to, and was. */
const LATE = 'The server did not answer in time.'

/**
 * Why there is no answer, or not the whole of it. `reason` is for who gave the URL. `detail` is for the operator's log
 * only: it names addresses and ports. `is_permanent` says that another try would end the same way; it decides on
 * retries and is not to be shown either.
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

/** The policy forbids it, wherever it leads. */
export function refused(detail: string): FetchError {
  return new FetchError(UNREACHABLE, detail, { is_permanent: true })
}

/** No name, no connection, no TLS, no answer in HTTP, or none in time: it may be there later. */
export function unreachable(detail: string, cause?: unknown): FetchError {
  return new FetchError(UNREACHABLE, detail, { is_permanent: false, cause })
}

/** The server was connected to and did not answer the request, for lack of time or for another reason. */
export function unanswered(host: string, error: unknown): FetchError {
  const reason = isTimeout(error) ? LATE : UNREACHABLE
  return new FetchError(reason, `${host}: ${detailOf(error)}`, { is_permanent: false, cause: error })
}

function isTimeout(error: unknown): boolean {
  const { name, cause } = error as Error
  return name === 'TimeoutError' || (cause instanceof Error && isTimeout(cause))
}

/** One line of an error that came from a resolver, a socket or a parser. */
export function detailOf(error: unknown): string {
  const { name, code, message, cause } = error as Error & { code?: unknown }
  if (name === 'AbortError' && cause) return detailOf(cause)
  return typeof code === 'string' ? `${code} ${message}` : message
}
