import { MailbrookError } from '../source/error.ts'

/** The command is wrong: nothing was sent. */
export function cliError(message: string, cause?: unknown): MailbrookError {
  return new MailbrookError(null, 'cli_error', message, { cause })
}

/** Anything that was thrown, as the error that is shown. */
export function shownError(error: unknown): MailbrookError {
  if (!(error instanceof MailbrookError)) return cliError(error instanceof Error ? error.message : String(error), error)
  // The library's word for arguments that are wrong.
  return error.name === 'client_error' ? cliError(error.message, error) : error
}

/** 1: the API refused; the others say why it could not. */
export function exitCodeOf({ statusCode, name }: MailbrookError): number {
  if (name === 'cli_error') return 2
  if (statusCode === null) return 1
  if (statusCode === 0) return 3
  if (statusCode === 401 || statusCode === 403) return 4
  if (statusCode === 404) return 5
  if (statusCode === 429) return 6
  return statusCode >= 500 ? 7 : 1
}
