import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import type { OwnedImport } from './leases.ts'

/** `through`: the last merged record. */
const MergedSlice = z.object({
  outcome: z.enum(['merged', 'done', 'ahead', 'lost', 'unstaged', 'orphaned']),
  through: z.int(),
})
export type MergedSlice = z.infer<typeof MergedSlice>

/** Merges the next records of an import (merge_import_slice.sql). Throws SQLSTATE 55P03 after `wait_ms` for the lock. */
export async function mergeSlice(
  db: Queryable,
  { account_id, id, owner }: OwnedImport,
  slice: number,
  wait_ms: number,
): Promise<MergedSlice> {
  return db.one(sql.type(MergedSlice)`
    SELECT outcome, through FROM merge_import_slice(${account_id}, ${id}, ${owner}, ${slice}, ${wait_ms})
  `)
}
