import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** Filters of received emails. All given filters apply. */
export type ReceivedEmailFilters = {
  /** A domain in its envelope. */
  domain?: { name: string } | { id: string } | undefined
  /** Addresses in lower case; `to`: in its To, its Cc or its envelope. */
  from?: string | undefined
  to?: string | undefined
  /** Text in its subject, its sender or an address that it was for; one line. */
  q?: string | undefined
  read?: boolean | undefined
  category?: 'interested' | 'neutral' | 'not_interested' | 'none' | undefined
  /** The campaign to whose emails it replies. */
  campaign_id?: string | undefined
}

const NamedDomain = z.object({ id: z.string(), name: z.string() })
type NamedDomain = z.infer<typeof NamedDomain>

/** Returns undefined if no domain is given, and null if it does not exist. */
export async function findFilterDomain(
  db: Queryable,
  account_id: string,
  domain: ReceivedEmailFilters['domain'],
): Promise<NamedDomain | null | undefined> {
  if (!domain) return undefined
  const isAsked = 'id' in domain ? sql.fragment`id = ${domain.id}` : sql.fragment`name = ${domain.name}`
  return db.maybeOne(
    sql.type(NamedDomain)`SELECT id, name FROM domains WHERE account_id = ${account_id} AND ${isAsked}`,
  )
}

/**
 * No index covers the text of emails, so `q` looks at this many emails that match the other filters: the newest, or
 * those after the cursor.
 */
const MAX_LOOKED_AT = 50_000

type Filters = Omit<ReceivedEmailFilters, 'domain'> & { domain: NamedDomain | undefined }

/** Returns a query of the ids of a page, in order, which reads only indexes until the ids are found. */
export function matchingIds(
  account_id: string,
  filters: Filters,
  where: FragmentSqlToken,
  order: FragmentSqlToken,
  limit: number,
): FragmentSqlToken {
  const { domain, to, q } = filters
  const addresses = to === undefined ? [] : [to]
  const most = q === undefined ? limit : MAX_LOOKED_AT
  const branch = (more: FragmentSqlToken[], addresses: string[]) => {
    const isMatch = sql.join(
      [sql.fragment`r.account_id = ${account_id}`, ...conditions(filters), ...more],
      sql.fragment` AND `,
    )
    const emails = sql.fragment`SELECT r.id FROM received_emails r WHERE ${isMatch} AND ${where}`
    return sql.fragment`${addresses.reduce((ids, address) => forAddress(ids, address), emails)} ORDER BY ${order} LIMIT ${most}`
  }
  // Postgres starts with the list that it expects to be shorter; all are in the order of the page.
  const forAddress = (ids: FragmentSqlToken, address: string) => sql.fragment`
    SELECT e.id FROM (${ids}) e JOIN (
      SELECT a.id FROM (
        SELECT received_email_id AS id FROM received_recipients WHERE account_id = ${account_id} AND address = ${address}
      ) a
      WHERE ${where}
    ) p ON p.id = e.id
  `
  const candidates = domain
    ? sql.fragment`
      SELECT id FROM (
        (${branch([sql.fragment`r.domain_id = ${domain.id}`], addresses)})
        UNION ALL (${branch([isAlsoFor(domain)], [...addresses, `@${domain.name}`])})
      ) u ORDER BY ${order} LIMIT ${most}
    `
    : branch([], addresses)
  if (q === undefined) return candidates
  return sql.fragment`
    SELECT c.id FROM (${candidates}) c
    WHERE (SELECT ${hasText(q)} FROM received_emails r WHERE r.account_id = ${account_id} AND r.id = c.id)
    ORDER BY ${order} LIMIT ${limit}
  `
}

/**
 * Returns a condition for emails that are for this domain too, but first for another one: an email may be for several
 * domains of its account. `domain_id` is the first; the others are in its envelope.
 */
function isAlsoFor({ id, name }: NamedDomain): FragmentSqlToken {
  return sql.fragment`
    r.domain_id IS DISTINCT FROM ${id}
    AND EXISTS (SELECT FROM unnest(r.received_for) AS f(address) WHERE lower(f.address) LIKE ${`%@${name}`})
  `
}

function conditions({ campaign_id, from, read, category }: Filters): FragmentSqlToken[] {
  return [
    sql.fragment`r.state <> 'stored'`,
    sql.fragment`r.kind = 'email'`,
    ...(from === undefined ? [] : [sql.fragment`lower(left(r.sender, 320)) = ${from}`]),
    ...(read === undefined ? [] : [read ? sql.fragment`r.read_at IS NOT NULL` : sql.fragment`r.read_at IS NULL`]),
    ...(category === undefined ? [] : [sql.fragment`coalesce(r.category, 'none') = ${category}`]),
    ...(campaign_id === undefined ? [] : [isReplyTo(campaign_id)]),
  ]
}

function isReplyTo(campaign_id: string): FragmentSqlToken {
  return sql.fragment`EXISTS (
    SELECT FROM emails s
    WHERE s.account_id = r.account_id AND s.id = r.reply_to_email_id AND s.campaign_id = ${campaign_id})`
}

function hasText(q: string): FragmentSqlToken {
  return sql.fragment`
    strpos(fold_case(concat_ws(chr(10), r.subject, r.sender, r.from_name, array_to_string(r."to" || r.cc, chr(10)),
      array_to_string(r.received_for, chr(10)))), fold_case(${q})) > 0
  `
}
