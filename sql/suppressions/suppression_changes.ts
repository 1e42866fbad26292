import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'
import { suppressionColumns as columns, isActive, Suppression, SuppressionReason } from './suppressions.ts'

export type NewSuppressionRow = {
  id: string
  address: string
  reason: SuppressionReason
  expires_at: string | null
}

export type AddedSuppression = { is_new: boolean; suppression: Suppression }

/**
 * Adds each address once; results are in the order of the rows. For equal addresses, and for an existing one, the
 * stronger reason and the later end are kept. `is_new`: it did not exist, or had expired.
 */
export async function upsertSuppressions(
  tx: Tx,
  account_id: string,
  rows: NewSuppressionRow[],
): Promise<AddedSuppression[]> {
  const strengths = sql.array(SuppressionReason.options, 'text')
  const strongest = (reason: FragmentSqlToken) =>
    sql.fragment`(${strengths})[max(array_position(${strengths}, ${reason}))]`
  const stored = await tx.any(sql.type(Suppression)`
    INSERT INTO suppressions AS s (account_id, id, address, reason, expires_at)
    SELECT ${account_id}::uuid, (array_agg(id))[1], lower(address), ${strongest(sql.fragment`reason`)},
      nullif(max(coalesce(expires_at, 'infinity')), 'infinity')
    FROM json_to_recordset(${JSON.stringify(rows)}::json)
      AS (id uuid, address text, reason text, expires_at timestamptz)
    GROUP BY lower(address) ORDER BY lower(address) -- two statements in different order would deadlock
    ON CONFLICT (account_id, address) DO UPDATE SET (id, reason, cause, source_email_id, created_at, expires_at) = (
      SELECT excluded.id, excluded.reason, excluded.cause, excluded.source_email_id, excluded.created_at, excluded.expires_at
      WHERE s.expires_at <= now()
      UNION ALL
      SELECT s.id, (SELECT ${strongest(sql.fragment`r`)} FROM unnest(ARRAY[s.reason, excluded.reason]) AS r),
        s.cause, s.source_email_id, s.created_at,
        nullif(greatest(coalesce(s.expires_at, 'infinity'), coalesce(excluded.expires_at, 'infinity')), 'infinity')
      WHERE (s.expires_at <= now()) IS NOT TRUE
    )
    RETURNING ${columns}
  `)
  const ids = new Set(rows.map(({ id }) => id))
  const added = stored.map(suppression => ({ is_new: ids.has(suppression.id), suppression }))
  const byAddress = new Map(added.map(each => [each.suppression.email, each]))
  return rows.map(({ address }) => byAddress.get(address.toLowerCase()) as AddedSuppression)
}

/** Deletes suppressions; returns the deleted ones. */
export async function deleteSuppressions(
  tx: Tx,
  account_id: string,
  { ids = [], addresses = [] }: { ids?: string[]; addresses?: string[] },
): Promise<Suppression[]> {
  return tx.any(sql.type(Suppression)`
    DELETE FROM suppressions WHERE account_id = ${account_id} AND address IN (
      SELECT address FROM suppressions
      WHERE account_id = ${account_id} AND ${isActive} AND (id = ANY (${sql.array(ids, 'uuid')})
        OR address = ANY (ARRAY(SELECT lower(a) FROM unnest(${sql.array(addresses, 'text')}) AS a)))
      ORDER BY address FOR UPDATE
    )
    RETURNING ${columns}
  `)
}

const OwnedSuppression = Suppression.extend({ account_id: z.string() })
export type OwnedSuppression = z.infer<typeof OwnedSuppression>

/** Deletes at most `limit` expired suppressions; returns them. */
export async function deleteExpiredSuppressions(tx: Tx, limit: number): Promise<OwnedSuppression[]> {
  return tx.any(sql.type(OwnedSuppression)`
    DELETE FROM suppressions WHERE (account_id, address) IN (
      SELECT account_id, address FROM suppressions WHERE expires_at <= now() ORDER BY expires_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )
    RETURNING account_id, ${columns}
  `)
}
