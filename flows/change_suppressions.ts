import { notFound } from '../lib/errors.ts'
import type { Pool } from '../sql/pool.ts'
import {
  deleteExpiredSuppressions,
  deleteSuppression,
  type NewSuppressionRow,
  type Suppression,
  type SuppressionRef,
  upsertSuppression,
} from '../sql/suppressions.ts'
import { announce } from './announce.ts'

/** Suppresses an address. One that was before is changed, which is told to nobody: it gets no mail before and after. */
export async function addSuppression(
  pool: Pool,
  row: NewSuppressionRow,
): Promise<{ is_new: boolean; suppression: Suppression }> {
  return pool.transaction(async tx => {
    const { is_new, suppression } = await upsertSuppression(tx, row)
    const added = { account_id: row.account_id, type: 'suppression.added' as const, data: () => suppression }
    if (is_new) await announce(tx, [added])
    return { is_new, suppression }
  })
}

/** Its address gets mail again. Answers its id. @throws {ApiError} 404 */
export async function removeSuppression(pool: Pool, account_id: string, ref: SuppressionRef): Promise<string> {
  return pool.transaction(async tx => {
    const suppression = await deleteSuppression(tx, account_id, ref)
    if (!suppression) throw notFound('Suppression')
    await announce(tx, [{ account_id, type: 'suppression.removed', data: () => suppression }])
    return suppression.id
  })
}

/** Those that have expired have done nothing since: that is told when they are deleted. Answers how many it were. */
export async function removeExpiredSuppressions(pool: Pool, limit: number): Promise<number> {
  return pool.transaction(async tx => {
    const expired = await deleteExpiredSuppressions(tx, limit)
    const removed = expired.map(({ account_id, ...suppression }) => {
      return { account_id, type: 'suppression.removed' as const, data: () => suppression }
    })
    await announce(tx, removed)
    return expired.length
  })
}
