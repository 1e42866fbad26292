import { announce } from '#flows/webhooks/announce.ts'
import { notFound } from '#lib/errors.ts'
import type { Pool } from '#sql/pool.ts'
import {
  type AddedSuppression,
  deleteExpiredSuppressions,
  deleteSuppressions,
  type NewSuppressionRow,
  upsertSuppressions,
} from '#sql/suppressions/suppression_changes.ts'
import type { Suppression, SuppressionRef } from '#sql/suppressions/suppressions.ts'

/**
 * Suppresses addresses. An address that was suppressed already is changed without an event, since it gets no mail
 * either way.
 */
export async function addSuppressions(
  pool: Pool,
  account_id: string,
  rows: NewSuppressionRow[],
): Promise<AddedSuppression[]> {
  return pool.transaction(async tx => {
    const added = await upsertSuppressions(tx, account_id, rows)
    const fresh = new Set(added.filter(({ is_new }) => is_new).map(({ suppression }) => suppression))
    const happenings = [...fresh].map(suppression => {
      return { account_id, type: 'suppression.added' as const, data: () => suppression }
    })
    await announce(tx, happenings)
    return added
  })
}

/** Removes suppressions. Returns the removed ones; addresses that were not suppressed are ignored. */
export async function removeSuppressions(
  pool: Pool,
  account_id: string,
  named: { ids?: string[]; addresses?: string[] },
): Promise<Suppression[]> {
  return pool.transaction(async tx => {
    const removed = await deleteSuppressions(tx, account_id, named)
    const happenings = removed.map(suppression => {
      return { account_id, type: 'suppression.removed' as const, data: () => suppression }
    })
    await announce(tx, happenings)
    return removed
  })
}

/** Removes a suppression. Returns its id. @throws {ApiError} 404 */
export async function removeSuppression(pool: Pool, account_id: string, ref: SuppressionRef): Promise<string> {
  const named = 'id' in ref ? { ids: [ref.id] } : { addresses: [ref.address] }
  const [removed] = await removeSuppressions(pool, account_id, named)
  if (!removed) throw notFound('Suppression')
  return removed.id
}

/**
 * Deletes expired suppressions, which have had no effect since they expired, and announces that. Returns how many were
 * deleted.
 */
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
