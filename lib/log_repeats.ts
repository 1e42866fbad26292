import { OutageError } from './errors.ts'

/** Shortest time between two lines of one kind. */
const INTERVAL_MS = 1_000

/** Marks a record as caused by an outage of Postgres, if its error does not show that. The mark itself is not written. */
export const OUTAGE = Symbol('outage')

type Write = (left_out: number) => void
type Kind = { left_out: number; last: Write | null }

/**
 * An outage of Postgres shows in every request and every loop. The first line of each kind is written at once, then the last one
 * of each second with the number of lines left out before it.
 */
export class Repeats {
  readonly #kinds = new Map<string, Kind>()

  log(kind: string, write: Write): void {
    const known = this.#kinds.get(kind)
    if (!known) {
      write(0)
      this.#kinds.set(kind, { left_out: 0, last: null })
      this.#flushLater(kind)
      return
    }
    if (known.last) known.left_out++
    known.last = write
  }

  #flushLater(kind: string): void {
    const flush = () => {
      const { left_out, last } = this.#kinds.get(kind) as Kind
      this.#kinds.delete(kind)
      if (!last) return
      last(left_out)
      this.#kinds.set(kind, { left_out: 0, last: null })
      this.#flushLater(kind)
    }
    setTimeout(flush, INTERVAL_MS).unref()
  }
}

/** Returns the message without the parts that vary: ids, numbers, and the error text at its end. */
export function kindOf(message: string): string {
  return message
    .replace(/:.*/s, '')
    .replace(/\b[0-9a-f]*\d[0-9a-f.]*/g, '#')
    .replace(/'#'(, '#')*/g, '#')
}

/**
 * SQLSTATEs of an outage: connection errors, exhausted resources, intervention by an operator or a limit, system errors, and a
 * read-only standby.
 */
const STATES = /^(08|53|57|58)...$|^25006$/

/** Tells whether an error, or one of its causes, means that Postgres is unavailable. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof OutageError || STATES.test(String((error as NodeJS.ErrnoException).code))) return true
  return isOutage(error.cause) || (error instanceof AggregateError && error.errors.some(isOutage))
}
