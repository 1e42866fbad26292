import { setTimeout as sleep } from 'node:timers/promises'
import { announce } from '#flows/webhooks/announce.ts'
import { findImport } from '#sql/contacts/import/imports.ts'
import { endImport } from '#sql/contacts/import/leases.ts'
import { type MergedSlice, markUnstaged, mergeSlice } from '#sql/contacts/import/merge_slice.ts'
import { dropStage, LostLeaseError } from '#sql/contacts/import/staging.ts'
import type { Pool } from '#sql/pool.ts'
import { isLockTimeout, retryConflicts } from '#sql/retry.ts'
import { type Leased, type Services, stageFile } from './stage_file.ts'

/** Records of the first slice, and of the smallest and the largest. */
const SLICE = 500
const SMALLEST = 20
const LARGEST = 2_000

/** A slice shall have the lock for so long: nobody waits for more than 100 ms. */
const HELD_MS = 50

/** While a slice waits for the lock, others wait behind it: it gives up soon, and lets them pass before it asks again. */
const WAIT_MS = 50
const PAUSE_MS = 30

/**
 * Imports a file: stages its rows unless they are, merges them, and tells that it has ended. Goes on where another worker
 * stopped, wherever that was.
 *
 * @throws {LostLeaseError} @throws the reason of `stopping`
 */
export async function runImport(services: Services, leased: Leased, stopping: AbortSignal): Promise<void> {
  const { pool } = services
  if (leased.records === null) await stageFile(services, leased, stopping)
  for (let slice = SLICE; ; ) {
    stopping.throwIfAborted()
    const { outcome, held_ms } = await mergeNext(pool, leased, slice, stopping)
    switch (outcome) {
      case 'merged':
        slice = nextSize(slice, held_ms)
        break
      case 'done':
        return endRun(pool, leased, null)
      case 'orphaned':
        return endRun(pool, leased, 'The domain was deleted.')
      case 'lost':
        throw new LostLeaseError(`another worker has taken over the import ${leased.id}`)
      case 'unstaged':
        // Postgres has crashed: the table of staged rows is unlogged.
        await markUnstaged(pool, leased.account_id, leased.id)
        return runImport(services, { ...leased, records: null }, stopping)
    }
  }
}

async function mergeNext(pool: Pool, leased: Leased, slice: number, stopping: AbortSignal): Promise<MergedSlice> {
  for (;;) {
    try {
      return await retryConflicts(() => mergeSlice(pool, leased, slice, WAIT_MS))
    } catch (error) {
      if (!isLockTimeout(error)) throw error
    }
    await sleep(PAUSE_MS * (0.5 + Math.random()))
    stopping.throwIfAborted()
  }
}

function nextSize(slice: number, held_ms: number): number {
  const wanted = (slice * HELD_MS) / Math.max(held_ms, 1)
  return Math.round(Math.min(Math.max(wanted, slice / 2, SMALLEST), slice * 1.5, LARGEST))
}

/** The staged rows go first: whoever takes over an import that was not ended finds none, and ends it. */
export async function endRun(pool: Pool, leased: Leased, error: string | null): Promise<void> {
  const { account_id, id } = leased
  await dropStage(pool, id)
  await pool.transaction(async tx => {
    if (!(await endImport(tx, leased, error))) return
    const data = async () => (await findImport(tx, account_id, id)) as object
    await announce(tx, [{ account_id, type: 'contact_import.completed', data }])
  })
}
