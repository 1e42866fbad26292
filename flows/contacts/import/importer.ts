import type { Blobs } from '#flows/files/blobs.ts'
import { LeaseLoop, type LeaseTimes } from '#lib/async/lease_loop.ts'
import { OutageError } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import type { Log } from '#lib/log.ts'
import { claimImports, countAttempt, extendImportLeases, releaseImport } from '#sql/contacts/import/leases.ts'
import { LostLeaseError } from '#sql/contacts/import/staging.ts'
import type { Pool } from '#sql/pool.ts'
import { endRun, runImport } from './run_import.ts'
import type { Leased } from './stage_file.ts'

export type ImportTimes = LeaseTimes & { lease_seconds: number }

export const IMPORT_TIMES: ImportTimes = {
  poll_ms: 5_000,
  heartbeat_ms: 10_000,
  drain_ms: 10_000,
  lease_seconds: 30,
}

/** Maximum number of imports that one worker runs at the same time. */
const PLACES = 2

/** Consecutive runs that end in an unexpected error before the import fails. */
const MAX_ATTEMPTS = 5

type Dependencies = { pool: Pool; log: Log; blobs: Blobs; times?: ImportTimes }

/**
 * Imports files of contacts: leases imports, and resumes those of workers that have died. A job only announces new
 * ones.
 */
export class Importer extends LeaseLoop<string> {
  readonly #pool: Pool
  readonly #log: Log
  readonly #blobs: Blobs
  readonly #seconds: number
  readonly #running = new Map<Leased, Promise<void>>()
  readonly #interrupt = new AbortController()

  constructor({ pool, log, blobs, times = IMPORT_TIMES }: Dependencies) {
    super(log, 'imports', times)
    this.#pool = pool
    this.#log = log
    this.#blobs = blobs
    this.#seconds = times.lease_seconds
  }

  override async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values())
  }

  /** Claims the imports that have waited longest, whichever was announced. */
  protected override async claim(): Promise<void> {
    const room = PLACES - this.#running.size
    if (room <= 0) return
    // Each claim has its own owner, so a run that has lost its lease stays invalid even if this worker claims the
    // import again.
    const lease = { owner: newId(), seconds: this.#seconds }
    for (const row of await claimImports(this.#pool, lease, room)) {
      const leased = { ...row, ...lease }
      const run = this.#run(leased).finally(() => {
        this.#running.delete(leased)
        if (!this.stopping.aborted) this.look()
      })
      this.#running.set(leased, run)
    }
  }

  protected override async extendLeases(): Promise<void> {
    const owned = [...this.#running.keys()].map(({ account_id, id, owner }) => ({ account_id, id, owner }))
    if (owned.length > 0) await extendImportLeases(this.#pool, owned, this.#seconds)
  }

  /** Each run stops after its current slice. */
  protected override giveBack(): void {
    this.#interrupt.abort()
  }

  protected override giveUp(): void {}

  async #run(leased: Leased): Promise<void> {
    try {
      await runImport({ pool: this.#pool, blobs: this.#blobs }, leased, this.#interrupt.signal)
    } catch (error) {
      await this.#fail(leased, error).catch(err => this.#log.error({ err }, 'an import could not be given back'))
    }
  }

  async #fail(leased: Leased, error: unknown): Promise<void> {
    if (error instanceof LostLeaseError) return
    if (this.#interrupt.signal.aborted) return releaseImport(this.#pool, leased)
    this.#log.error({ err: error, import_id: leased.id }, 'an import stopped')
    // The import is resumed when the lease has expired.
    if (error instanceof OutageError) return
    const attempts = await countAttempt(this.#pool, leased)
    if (attempts >= MAX_ATTEMPTS) await endRun(this.#pool, leased, 'The import stopped at an unexpected error.')
  }
}
