import type { FragmentSqlToken } from '@slonik/sql-tag'
import { findDomainByName } from './domains.ts'
import { type Queryable, sql } from './pool.ts'

/** What a received email must be to be listed (contract 4.1). All that is given applies. */
export type ReceivedEmailFilters = {
  domain?: { name: string } | { id: string } | undefined
  /** Addresses in lower case; `to`: of its To, its Cc or its envelope. */
  from?: string | undefined
  to?: string | undefined
  /** Text within its subject, its sender, or an address that it was for; a line. */
  q?: string | undefined
  read?: boolean | undefined
  category?: 'interested' | 'neutral' | 'not_interested' | 'none' | undefined
  /** Nothing can be what was asked for. */
  isNone?: boolean | undefined
}

/** Undefined when none is asked for, null when there is no such domain. */
export async function domainIdOf(db: Queryable, account_id: string, domain: ReceivedEmailFilters['domain']) {
  if (!domain || 'id' in domain) return domain?.id
  return (await findDomainByName(db, account_id, domain.name))?.id ?? null
}

/**
 * No index has the text of emails: `q` looks at so many of those that the other filters let through, the newest of them
 * or those that follow the cursor.
 */
const MAX_LOOKED_AT = 50_000

type Filters = Omit<ReceivedEmailFilters, 'domain' | 'isNone'> & { domain_id: string | undefined }

/** A query of the ids of a page, in its order: found by an index before anything else of them is read. */
export function matchingIds(
  account_id: string,
  filters: Filters,
  where: FragmentSqlToken,
  order: FragmentSqlToken,
  limit: number,
): FragmentSqlToken {
  const { to, q } = filters
  const isMatch = sql.join([sql.fragment`r.account_id = ${account_id}`, ...conditions(filters)], sql.fragment` AND `)
  const emails = sql.fragment`SELECT r.id FROM received_emails r WHERE ${isMatch} AND ${where}`
  // Postgres begins with whichever of the two it thinks to be shorter: both come in the order of the page.
  const ofRecipient = sql.fragment`
    SELECT e.id FROM (${emails}) e JOIN (
      SELECT a.id FROM (
        SELECT received_email_id AS id FROM received_recipients WHERE account_id = ${account_id} AND address = ${to ?? ''}
      ) a
      WHERE ${where}
    ) p ON p.id = e.id
  `
  const candidates = sql.fragment`${to === undefined ? emails : ofRecipient} ORDER BY ${order}`
  if (q === undefined) return sql.fragment`${candidates} LIMIT ${limit}`
  return sql.fragment`
    SELECT c.id FROM (${candidates} LIMIT ${MAX_LOOKED_AT}) c
    WHERE (SELECT ${hasText(q)} FROM received_emails r WHERE r.account_id = ${account_id} AND r.id = c.id)
    ORDER BY ${order} LIMIT ${limit}
  `
}

function conditions({ domain_id, from, read, category }: Filters): FragmentSqlToken[] {
  return [
    sql.fragment`r.state <> 'stored'`,
    sql.fragment`r.kind = 'email'`,
    ...(domain_id === undefined ? [] : [sql.fragment`r.domain_id = ${domain_id}`]),
    ...(from === undefined ? [] : [sql.fragment`lower(left(r.sender, 320)) = ${from}`]),
    ...(read === undefined ? [] : [read ? sql.fragment`r.read_at IS NOT NULL` : sql.fragment`r.read_at IS NULL`]),
    ...(category === undefined ? [] : [sql.fragment`coalesce(r.category, 'none') = ${category}`]),
  ]
}

function hasText(q: string): FragmentSqlToken {
  return sql.fragment`
    strpos(fold_case(concat_ws(chr(10), r.subject, r.sender, r.from_name, array_to_string(r."to" || r.cc, chr(10)),
      array_to_string(r.received_for, chr(10)))), fold_case(${q})) > 0
  `
}
