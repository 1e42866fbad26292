import { enterPending } from '#sql/contacts/import/index_entries.ts'
import type { Pool } from '#sql/pool.ts'

/** Merged rows that are entered at a time. Searches read what is pending row by row, so it must stay short. */
const ENOUGH = 16_000

/** More merged rows than this wait for the entries of those before. */
const TOO_MANY = 40_000

/** Rows that are left to whoever inserts next, as those of a few single contacts are. */
const FEW = 2_000

/**
 * Enters merged rows into the indexes over words and properties: a third of what a contact costs. It is done beside the
 * slices, on another connection, so that none of them has the account's lock for so long.
 */
export class IndexEntries {
  readonly #pool: Pool
  #pending = 0
  #entering: Promise<void> | null = null

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** So many rows were merged. */
  async add(rows: number): Promise<void> {
    this.#pending += rows
    if (this.#pending >= TOO_MANY) await this.#entering
    if (this.#pending >= ENOUGH && !this.#entering) this.#enter()
  }

  /** Enters what is left. */
  async end(): Promise<void> {
    await this.#entering
    if (this.#pending > FEW) await this.#enter()
  }

  #enter(): Promise<void> {
    this.#pending = 0
    // A failure loses nothing: entries that stay pending are made by the next call, or by the next insert.
    this.#entering = enterPending(this.#pool)
      .catch(() => {})
      .finally(() => {
        this.#entering = null
      })
    return this.#entering
  }
}
