import { z } from 'zod'
import { type Pool, sql } from '#sql/pool.ts'
import type { OwnedImport } from './leases.ts'

/** `through`: the last merged record. */
const MergedSlices = z.object({
  outcome: z.enum(['merged', 'done', 'ahead', 'lost', 'unstaged', 'orphaned']),
  through: z.int(),
})
export type MergedSlices = z.infer<typeof MergedSlices>

/**
 * Merges the next slices of an import for about `within_ms` (merge_import_slice.sql). Throws SQLSTATE 55P03 after `wait_ms` for
 * the lock; the slices before it are merged.
 */
export async function mergeSlices(
  pool: Pool,
  { account_id, id, owner }: OwnedImport,
  { slice, wait_ms, within_ms }: { slice: number; wait_ms: number; within_ms: number },
): Promise<MergedSlices> {
  return pool.one(sql.type(MergedSlices)`
    CALL merge_import_slices(${account_id}, ${id}, ${owner}, ${slice}, ${wait_ms}, ${within_ms}, NULL, NULL)
  `)
}
