import { clientError } from '../error.ts'

/** @throws {MailbrookError} `client_error`, without the value, which may be the API key */
export function headersOf(values: Record<string, string>): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(values)) {
    try {
      headers.set(name, value)
    } catch {
      throw clientError(`The header \`${name}\` has characters that a header cannot have.`)
    }
  }
  return headers
}
