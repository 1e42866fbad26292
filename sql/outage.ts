import pg from 'pg'
import { OutageError } from '#lib/errors.ts'

/** No connection was free or could be made in time: nothing was sent, so nothing was done. */
export class NotConnectedError extends OutageError {
  constructor(cause: unknown) {
    // A refused connection to a name with several addresses is an AggregateError with an empty message.
    const inner = cause instanceof AggregateError ? cause.errors[0] : cause
    super(inner instanceof Error ? inner.message : String(inner), { cause })
  }
}

/**
 * Postgres did not answer a statement: it may be done, or undone, or still at work. `session` is the application_name of
 * the connection, by which `endSession` finds the backend that had it.
 */
export class NoAnswerError extends OutageError {
  readonly session: string

  constructor(cause: Error, session: string) {
    super(cause.message, { cause })
    this.session = session
  }
}

/** A connection broke that nobody was using. */
export class LostConnectionError extends OutageError {
  constructor(cause: Error) {
    super(cause.message, { cause })
  }
}

/** The SQLSTATE Postgres answered, or null when it did not answer: connection lost, refused, timed out. */
export function sqlState(error: unknown): string | null {
  return error instanceof pg.DatabaseError ? (error.code ?? null) : null
}
