import { z } from 'zod'
import { firstId } from '#lib/id_ranges.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { sendableStatuses } from './columns.ts'

const NameOwner = z.object({ account_id: z.string(), id: z.string(), is_trusted: z.boolean() })
export type NameOwner = z.infer<typeof NameOwner>

/** The account, this one or another, that has verified exactly this name. */
export async function findNameOwner(db: Queryable, name: string): Promise<NameOwner | null> {
  return db.maybeOne(sql.type(NameOwner)`
    SELECT account_id, id, is_trusted FROM domains WHERE name = ${name} AND status IN ${sendableStatuses}
  `)
}

/** No mail is accepted from it until the transaction ends, and what was accepted before is seen by it. */
export async function lockNameOwner(tx: Tx, name: string): Promise<NameOwner | null> {
  return tx.maybeOne(sql.type(NameOwner)`
    SELECT account_id, id, is_trusted FROM domains WHERE name = ${name} AND status IN ${sendableStatuses} FOR UPDATE
  `)
}

const DAY_MS = 24 * 60 * 60_000

const Activity = z.object({ has_scheduled: z.boolean(), has_sent: z.boolean() })

/** What an owner does with a domain: mail that waits for its time, and mail of the last 24 hours before `now`. */
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
