import { z } from 'zod'
import type { BrandChange } from '#lib/domains/brand.ts'
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

/** Finds an account by id or by name; operators use either. */
export async function findAccount(db: Queryable, id_or_name: string): Promise<Account | null> {
  return db.maybeOne(sql.type(Account)`
    SELECT id, name, plan FROM accounts WHERE id::text = ${id_or_name} OR name = ${id_or_name}
  `)
}

/** Finds the oldest account. */
export async function findFirstAccount(db: Queryable): Promise<Account | null> {
  return db.maybeOne(sql.type(Account)`SELECT id, name, plan FROM accounts ORDER BY created_at, id LIMIT 1`)
}

const ListedAccount = Account.extend({ paused_at: z.date().nullable(), created_at: z.date() })
export type ListedAccount = z.infer<typeof ListedAccount>

/** Lists accounts for operators, newest first. */
export async function listAccounts(db: Queryable, limit: number): Promise<ListedAccount[]> {
  return db.any(sql.type(ListedAccount)`
    SELECT id, name, plan, paused_at, created_at FROM accounts ORDER BY created_at DESC, id DESC LIMIT ${limit}
  `)
}

/** Sets the address in the footer of campaigns, for domains that have none of their own. */
export async function setPostalAddress(db: Queryable, id: string, postal_address: string | null): Promise<void> {
  await db.run(sql.unsafe`UPDATE accounts SET postal_address = ${postal_address} WHERE id = ${id}`)
}

/** Sets the brand shown to recipients of domains without their own; undefined leaves a part unchanged. */
export async function setBrand(db: Queryable, id: string, { name, color, logo_url }: BrandChange): Promise<void> {
  await db.run(sql.unsafe`
    UPDATE accounts SET
      brand_name = CASE WHEN ${name === undefined} THEN brand_name ELSE ${name ?? null} END,
      brand_color = CASE WHEN ${color === undefined} THEN brand_color ELSE ${color ?? null} END,
      brand_logo_url = CASE WHEN ${logo_url === undefined} THEN brand_logo_url ELSE ${logo_url ?? null} END
    WHERE id = ${id}
  `)
}
