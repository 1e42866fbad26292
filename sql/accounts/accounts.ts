import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

export const Account = z.object({ id: z.string(), name: z.string(), plan: z.string() })
export type Account = z.infer<typeof Account>

export async function insertAccount(db: Queryable, account: Account): Promise<void> {
  await db.run(sql.unsafe`
    WITH account AS (
      INSERT INTO accounts (id, name, plan) VALUES (${account.id}, ${account.name}, ${account.plan}) RETURNING id
    )
    INSERT INTO account_usage (account_id) SELECT id FROM account
  `)
}

/** By id or by name: operators write either. */
export async function findAccount(db: Queryable, id_or_name: string): Promise<Account | null> {
  return db.maybeOne(sql.type(Account)`
    SELECT id, name, plan FROM accounts WHERE id::text = ${id_or_name} OR name = ${id_or_name}
  `)
}

/** The oldest. */
export async function findFirstAccount(db: Queryable): Promise<Account | null> {
  return db.maybeOne(sql.type(Account)`SELECT id, name, plan FROM accounts ORDER BY created_at, id LIMIT 1`)
}

/** In the footer of its campaigns, for domains that have none of their own. */
export async function setPostalAddress(db: Queryable, id: string, postal_address: string | null): Promise<void> {
  await db.run(sql.unsafe`UPDATE accounts SET postal_address = ${postal_address} WHERE id = ${id}`)
}
