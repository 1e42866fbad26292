import type { ErrorName } from './generated/types.ts'

/** Names of the errors that the client itself makes. */
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
  /** The key that the request was sent with. Sent again with the same key, it cannot take effect twice. */
  idempotencyKey?: string
  cause?: unknown
}

/**
 * A request that failed. `statusCode` is the HTTP status; 0 with the name `network_error`: no response came; null: the client
 * itself failed, such as with `client_error`, since the arguments are wrong, before anything was sent. `JSON.stringify` writes these three members only.
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

  /** Tells whether something that was caught is an error of the client; with a name, whether it is that error. */
  static is(error: unknown, name?: ErrorName | ClientErrorName): error is MailbrookError {
    return error instanceof MailbrookError && (name === undefined || error.name === name)
  }

  toJSON(): { statusCode: number | null; name: string; message: string } {
    return { statusCode: this.statusCode, name: this.name, message: this.message }
  }
}

/** The arguments of a call are wrong; nothing was sent. */
export function clientError(message: string): MailbrookError {
  return new MailbrookError(null, 'client_error', message)
}
