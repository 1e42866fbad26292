import { MailbrookError } from '../source/error.ts'

/** An error in the command itself: nothing was sent. */
export function cliError(message: string, cause?: unknown): MailbrookError {
  return new MailbrookError(null, 'cli_error', message, { cause })
}

/** Names of results that a command reports as errors, after it has done its work. */
export type OutcomeName =
  | 'emails_refused'
  | 'import_failed'
  | 'not_delivered'
  | 'not_sent'
  | 'not_verified'
  | 'problems_found'

export function outcomeError(name: OutcomeName, message: string): MailbrookError {
  return new MailbrookError(null, name, message)
}

/** Converts anything that was thrown to the error that is printed. */
export function shownError(error: unknown): MailbrookError {
  if (!(error instanceof MailbrookError)) return cliError(error instanceof Error ? error.message : String(error), error)
  // `client_error` is the library's name for wrong arguments.
  return error.name === 'client_error' ? cliError(error.message, error) : error
}

/** Returns 1 if the API refused the request; other codes for other reasons (client/README.md). */
export function exitCodeOf({ statusCode, name }: MailbrookError): number {
  if (name === 'cli_error') return 2
  if (statusCode === null) return 1
  if (statusCode === 0) return 3
  if (statusCode === 401 || statusCode === 403) return 4
  if (statusCode === 404) return 5
  if (statusCode === 429) return 6
  return statusCode >= 500 ? 7 : 1
}
