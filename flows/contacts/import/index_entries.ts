import { flushPendingEntries } from '#sql/contacts/import/index_entries.ts'
import type { Pool } from '#sql/pool.ts'

/** Merged rows that are indexed at a time. Searches scan the pending list row by row, so it must stay short. */
const ENOUGH = 16_000

/** With more merged rows than this, the import waits until earlier ones are indexed. */
const TOO_MANY = 40_000

/** With at most this many pending rows, indexing is left to the next insert, as it is for single contacts. */
const FEW = 2_000

/**
 * Moves merged rows into the indexes over words and properties, which is a third of the cost of a contact. This runs
 * beside the slices, on another connection, so that no slice holds the lock of the account for so long.
 */
export class IndexEntries {
  readonly #pool: Pool
  #pending = 0
  #entering: Promise<void> | null = null

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Called after that many rows were merged. */
  async add(rows: number): Promise<void> {
    this.#pending += rows
    if (this.#pending >= TOO_MANY) await this.#entering
    if (this.#pending >= ENOUGH && !this.#entering) this.#enter()
  }

  /** Indexes the rest. */
  async end(): Promise<void> {
    await this.#entering
    if (this.#pending > FEW) await this.#enter()
  }

  #enter(): Promise<void> {
    this.#pending = 0
    // A failure loses nothing: pending entries are indexed by the next call or the next insert.
    this.#entering = flushPendingEntries(this.#pool)
      .catch(() => {})
      .finally(() => {
        this.#entering = null
      })
    return this.#entering
  }
}
