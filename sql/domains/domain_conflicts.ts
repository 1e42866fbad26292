import { z } from 'zod'
import { registrableDomain } from '#lib/net/domain_name.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { Domain, sendableStatuses } from './columns.ts'

/**
 * Returns a domain that prevents an account from verifying this name: another account has verified the same name, one
 * above it or one below it. Only the operator may learn whose domain it is, never callers of the API.
 */
export async function findConflict(db: Queryable, account_id: string, name: string): Promise<Domain | null> {
  const below = Array.from(`.${name}`).reverse().join('')
  const isOthers = sql.fragment`status IN ${sendableStatuses} AND account_id <> ${account_id}`
  // One part per index; `/` is the character after the dot.
  return db.maybeOne(sql.type(Domain)`
    (SELECT id, account_id, name, status FROM domains WHERE ${isOthers} AND name = ANY(${sql.array(listAbove(name), 'text')}))
    UNION ALL
    (SELECT id, account_id, name, status FROM domains
    WHERE ${isOthers} AND reverse(name) COLLATE "C" >= ${below} AND reverse(name) COLLATE "C" < ${`${below.slice(0, -1)}/`})
    LIMIT 1
  `)
}

/** Returns the name itself and all names above it. */
function listAbove(name: string): string[] {
  const labels = name.split('.')
  return labels.map((_, i) => labels.slice(i).join('.'))
}

/**
 * Locks names until the transaction ends: no other transaction can make a domain sendable that has this name or is
 * above or below it, so no new conflict can appear. Must be called before looking for conflicts.
 */
export async function lockNames(tx: Tx, name: string): Promise<void> {
  await tx.run(sql.unsafe`SELECT pg_advisory_xact_lock(hashtextextended(${registrableDomain(name) ?? name}, 58))`)
}

const Room = z.object({ domains: z.int(), limit: z.int().nullable() })

/**
 * Returns how many domains an account has and may have by its plan (null: no limit), and locks the account: no other
 * transaction can add a domain until this one ends.
 */
export async function lockDomainRoom(tx: Tx, account_id: string): Promise<z.infer<typeof Room>> {
  await tx.run(sql.unsafe`SELECT FROM accounts WHERE id = ${account_id} FOR NO KEY UPDATE`)
  // A separate statement, which sees rows committed while the lock was waited for.
  return countDomains(tx, account_id)
}

/** Returns how many domains an account has and may have by its plan; null: no limit. */
export async function countDomains(db: Queryable, account_id: string): Promise<z.infer<typeof Room>> {
  return db.one(sql.type(Room)`
    SELECT (SELECT count(*) FROM domains d WHERE d.account_id = a.id) AS domains, p.domains AS "limit"
    FROM accounts a JOIN plans p ON p.name = a.plan WHERE a.id = ${account_id}
  `)
}
