import { z } from 'zod'
import { firstId } from '#lib/id_ranges.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { sendableStatuses } from './columns.ts'

const NameOwner = z.object({ account_id: z.string(), id: z.string(), is_trusted: z.boolean() })
export type NameOwner = z.infer<typeof NameOwner>

/** Returns the account that has verified exactly this name. */
export async function findNameOwner(db: Queryable, name: string): Promise<NameOwner | null> {
  return db.maybeOne(sql.type(NameOwner)`
    SELECT account_id, id, is_trusted FROM domains WHERE name = ${name} AND status IN ${sendableStatuses}
  `)
}

/**
 * As `findNameOwner`, with a lock: no mail is accepted from the domain until the transaction ends, and mail accepted
 * before is visible.
 */
export async function lockNameOwner(tx: Tx, name: string): Promise<NameOwner | null> {
  return tx.maybeOne(sql.type(NameOwner)`
    SELECT account_id, id, is_trusted FROM domains WHERE name = ${name} AND status IN ${sendableStatuses} FOR UPDATE
  `)
}

const DAY_MS = 24 * 60 * 60_000

const Activity = z.object({ has_scheduled: z.boolean(), has_sent: z.boolean() })

/**
 * Returns how an owner uses a domain: if it has scheduled mail, and if it has sent mail in the 24 hours before `now`.
 */
export async function findOwnerActivity(
  db: Queryable,
  { account_id, id }: NameOwner,
  now: Date,
): Promise<z.infer<typeof Activity>> {
  return db.one(sql.type(Activity)`
    SELECT
      EXISTS (
        SELECT FROM emails WHERE account_id = ${account_id} AND domain_id = ${id} AND status = 'scheduled'
      ) AS has_scheduled,
      EXISTS (
        SELECT FROM emails WHERE account_id = ${account_id} AND domain_id = ${id} AND id >= ${firstId(now, -DAY_MS)}
          AND status <> 'canceled'
      ) AS has_sent
  `)
}

export async function failNameOwner(tx: Tx, { account_id, id }: NameOwner): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE domains SET status = 'failed', window_since = NULL, check_at = NULL, return_path_verified = false,
      updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}
