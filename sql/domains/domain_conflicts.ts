import { z } from 'zod'
import { registrableDomain } from '#lib/net/domain_name.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { Domain, sendableStatuses } from './columns.ts'

/**
 * The domain that is in the way of this name being an account's own: another account has verified the same name, one
 * above it or one below it. The operator is told whose, callers of the API never are.
 */
export async function findConflict(db: Queryable, account_id: string, name: string): Promise<Domain | null> {
  const below = Array.from(`.${name}`).reverse().join('')
  const isOthers = sql.fragment`status IN ${sendableStatuses} AND account_id <> ${account_id}`
  // A part for each index; `/` is what comes after the dot.
  return db.maybeOne(sql.type(Domain)`
    (SELECT id, account_id, name, status FROM domains WHERE ${isOthers} AND name = ANY(${sql.array(listAbove(name), 'text')}))
    UNION ALL
    (SELECT id, account_id, name, status FROM domains
    WHERE ${isOthers} AND reverse(name) COLLATE "C" >= ${below} AND reverse(name) COLLATE "C" < ${`${below.slice(0, -1)}/`})
    LIMIT 1
  `)
}

/** The name itself and what it is below. */
function listAbove(name: string): string[] {
  const labels = name.split('.')
  return labels.map((_, i) => labels.slice(i).join('.'))
}

/**
 * Until this transaction ends, nobody else makes a domain sendable that has this name, is above it or below it: a
 * conflict that is not there now does not come. Whoever makes one sendable takes it before looking.
 */
export async function lockNames(tx: Tx, name: string): Promise<void> {
  await tx.run(sql.unsafe`SELECT pg_advisory_xact_lock(hashtextextended(${registrableDomain(name) ?? name}, 58))`)
}

const Room = z.object({ domains: z.int(), limit: z.int().nullable() })

/**
 * How many domains an account has, and may have by its plan; null is no limit. Nobody else can add one of them before
 * this transaction ends.
 */
export async function lockDomainRoom(tx: Tx, account_id: string): Promise<z.infer<typeof Room>> {
  await tx.run(sql.unsafe`SELECT FROM accounts WHERE id = ${account_id} FOR NO KEY UPDATE`)
  // A statement of its own: it sees what was committed while the lock was waited for.
  return countDomains(tx, account_id)
}

/** How many domains an account has, and may have by its plan; null is no limit. */
export async function countDomains(db: Queryable, account_id: string): Promise<z.infer<typeof Room>> {
  return db.one(sql.type(Room)`
    SELECT (SELECT count(*) FROM domains d WHERE d.account_id = a.id) AS domains, p.domains AS "limit"
    FROM accounts a JOIN plans p ON p.name = a.plan WHERE a.id = ${account_id}
  `)
}
