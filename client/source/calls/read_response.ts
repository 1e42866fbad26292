import { MailbrookError } from '../error.ts'

/** Name of the error if the response is not from Mailbrook, but from a proxy or from another server at this address. */
const UNEXPECTED = 'unexpected_response'
const SHOWN_TEXT = 200

/** True for a download of the API. The page of a proxy is none. */
export function isFile({ headers }: Response): boolean {
  return headers.get('content-disposition')?.startsWith('attachment') === true
}

export async function readJson(response: Response, idempotencyKey: string | undefined): Promise<unknown> {
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch {
    throw unexpected(response, text, idempotencyKey)
  }
}

/** Converts a response that is not a success to an error: that of the API, or `unexpected_response`. */
export async function readError(response: Response, idempotencyKey: string | undefined): Promise<MailbrookError> {
  const text = await response.text()
  const { statusCode, name, message, ...details } = parse(text)
  if (typeof name !== 'string' || typeof message !== 'string') return unexpected(response, text, idempotencyKey)
  const status = typeof statusCode === 'number' ? statusCode : response.status
  return new MailbrookError(status, name, message, { headers: response.headers, details, ...keyOf(idempotencyKey) })
}

/** Returns the reason why `fetch` failed, which is in the cause of its error. */
export function reasonOf(error: unknown): string {
  const { message = String(error), cause } = error as { message?: string; cause?: { code?: string; message?: string } }
  return cause?.code ?? cause?.message ?? message
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

function unexpected(response: Response, text: string, idempotencyKey: string | undefined): MailbrookError {
  const { status, headers, type } = response
  const isRedirect = type === 'opaqueredirect' || (status >= 300 && status < 400)
  const to = headers.get('location')
  const message = isRedirect
    ? `The server redirects${to ? ` to ${to}` : ''}: set \`baseUrl\` to the address that it redirects to.`
    : `The response is not JSON from Mailbrook (status ${status}): ${text.slice(0, SHOWN_TEXT) || 'it is empty'}`
  return new MailbrookError(status, UNEXPECTED, message, { headers, ...keyOf(idempotencyKey) })
}

function keyOf(idempotencyKey: string | undefined): { idempotencyKey?: string } {
  return idempotencyKey === undefined ? {} : { idempotencyKey }
}
