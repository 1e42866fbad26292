import type { ErrorName } from './generated/types.ts'

/** Names of the errors that the client itself throws. */
export type ClientErrorName =
  | 'network_error'
  | 'client_error'
  | 'unexpected_response'
  | 'wait_timeout'
  | 'invalid_signature'

type Details = {
  /** Headers of the response; none if there was no response. */
  headers?: Headers
  /** The other members of the response's body, such as `sent` and `sent_count` of `batch_incomplete`. */
  details?: Record<string, unknown>
  /** The key that the request was sent with. Repeated with the same key, it cannot take effect twice. */
  idempotencyKey?: string
  cause?: unknown
}

/**
 * A request that failed. `statusCode` is the HTTP status; 0 with the name `network_error` if there was no response; null if the
 * client itself failed, for example with `client_error` if the arguments are wrong and nothing was sent. `JSON.stringify` writes
 * only `statusCode`, `name` and `message`.
 */
export class MailbrookError extends Error {
  readonly statusCode: number | null
  declare readonly headers: Headers
  declare readonly details: Record<string, unknown>
  declare readonly idempotencyKey: string | undefined

  constructor(
    statusCode: number | null,
    name: ErrorName | ClientErrorName | (string & {}),
    message: string,
    more: Details = {},
  ) {
    super(message, { cause: more.cause })
    this.statusCode = statusCode
    this.name = name
    Object.defineProperty(this, 'message', { value: message, enumerable: true, writable: true, configurable: true })
    const { headers = new Headers(), details = {}, idempotencyKey } = more
    for (const [key, value] of Object.entries({ headers, details, idempotencyKey }))
      Object.defineProperty(this, key, { value, enumerable: false })
  }

  /** Tells whether a caught value is a MailbrookError, and with `name`, whether it has that name. */
  static is(error: unknown, name?: ErrorName | ClientErrorName): error is MailbrookError {
    return error instanceof MailbrookError && (name === undefined || error.name === name)
  }

  toJSON(): { statusCode: number | null; name: string; message: string } {
    return { statusCode: this.statusCode, name: this.name, message: this.message }
  }
}

/** Creates the error for wrong arguments of a call: nothing was sent. */
export function clientError(message: string): MailbrookError {
  return new MailbrookError(null, 'client_error', message)
}
