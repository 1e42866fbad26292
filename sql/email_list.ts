import { foldCase, searchedTerms } from '../lib/search_terms.ts'
import { findDomainByName } from './domains.ts'
import { ListedEmail, listedColumns } from './emails.ts'
import { type Page, type Position, readPage } from './page.ts'
import { type Queryable, sql } from './pool.ts'
import { findTemplateId } from './templates.ts'

/** What an email must be to be listed (contract 3.3). All that is given applies. */
export type EmailFilters = {
  /** Any of these statuses. */
  folder?: string[] | undefined
  /** Any of these statuses, or of these last events: `opened`, `clicked`. */
  status?: { statuses: string[]; events: string[] } | undefined
  /** Text within one line, or the beginning of an id. */
  q?: string | undefined
  domain?: { name: string } | { id: string } | undefined
  /** By its id it may be deleted. */
  template?: { alias: string } | { id: string } | undefined
  /** `name` or `name:value`. */
  tag?: string | undefined
  /** Addresses in lower case. */
  from?: string | undefined
  to?: string | undefined
  /** Exclusive. */
  created_after?: Date | undefined
  created_before?: Date | undefined
}

/** Newest first. */
export async function listEmails(
  db: Queryable,
  account_id: string,
  position: Position,
  filters: EmailFilters = {},
): Promise<Page<ListedEmail>> {
  const domain_id = await domainIdOf(db, account_id, filters.domain)
  const template_id = await templateIdOf(db, account_id, filters.template)
  const isNone = domain_id === null || template_id === null || filters.folder?.length === 0
  const isFiltered = Object.values(filters).some(value => value !== undefined)
  return readPage(position, async (where, order, limit) => {
    if (isNone) return []
    if (isFiltered) {
      const given = toSearch(account_id, position, filters, { domain_id, template_id })
      return search(db, account_id, given, position, limit)
    }
    return db.any(sql.type(ListedEmail)`
      SELECT ${listedColumns} FROM emails e WHERE e.account_id = ${account_id} AND ${where} ORDER BY ${order} LIMIT ${limit}
    `)
  })
}

/** Undefined when none is asked for, null when there is no such domain. */
async function domainIdOf(db: Queryable, account_id: string, domain: EmailFilters['domain']) {
  if (!domain || 'id' in domain) return domain?.id
  return (await findDomainByName(db, account_id, domain.name))?.id ?? null
}

async function templateIdOf(db: Queryable, account_id: string, template: EmailFilters['template']) {
  if (!template || 'id' in template) return template?.id
  return findTemplateId(db, account_id, template.alias)
}

async function search(db: Queryable, account_id: string, given: Search, { before }: Position, limit: number) {
  const is_ascending = before !== undefined
  return db.any(sql.prepared('search_emails', ListedEmail)`
    SELECT ${listedColumns}
    FROM search_emails(${account_id}, ${JSON.stringify(given)}::json, ${limit}, ${is_ascending}) WITH ORDINALITY
      AS s(id, position)
    -- OFFSET 0 keeps it to one row after the other, where the planner might read the whole table.
    CROSS JOIN LATERAL (SELECT * FROM emails e WHERE e.account_id = ${account_id} AND e.id = s.id OFFSET 0) e
    ORDER BY s.position
  `)
}

/** As the type email_search of sql/functions/search_emails.sql. */
type Search = Record<string, unknown> & { above: string; upto: string }

function toSearch(
  account_id: string,
  { after, before }: Position,
  { folder, status, q, tag, from, to, created_after, created_before }: EmailFilters,
  { domain_id, template_id }: { domain_id: string | undefined; template_id: string | undefined },
): Search {
  const text = q === undefined ? undefined : foldCase(q)
  const [name, value] = tag?.split(':') ?? []
  const [first_id, last_id] = idsOf(text)
  return {
    above: latest(before?.toLowerCase() ?? FIRST_ID, created_after && firstId(created_after, -CLOCKS_MS)),
    upto: earliest(after ? previousId(after) : LAST_ID, created_before && firstId(created_before, CLOCKS_MS)),
    folder,
    statuses:
      status && folder ? status.statuses.filter(status => folder.includes(status)) : (status?.statuses ?? folder),
    last_events: status?.events ?? [],
    q: text,
    first_id,
    last_id,
    domain_id,
    template_id,
    tag: tag && [{ name, value }],
    sender: from,
    recipient: to,
    created_after: created_after && timestamp(created_after),
    created_before: created_before && timestamp(created_before),
    ...searchedTerms(account_id, { q: text, from, to, domain: domain_id, template: template_id, tag }),
  }
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000'
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

function latest(id: string, other = id): string {
  return id > other ? id : other
}

function earliest(id: string, other = id): string {
  return id < other ? id : other
}

function previousId(id: string): string {
  const number = BigInt(`0x${id.replaceAll('-', '')}`)
  return toId((number === 0n ? number : number - 1n).toString(16).padStart(32, '0'))
}

function toId(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Web processes and the database may disagree by so much about the time. */
const CLOCKS_MS = 60_000

/** The first id of a moment (RFC 9562 5.7), for a short way to it: created_at is exact. */
function firstId(date: Date, shift_ms: number): string {
  const milliseconds = Math.max(0, date.getTime() + shift_ms)
  return toId(milliseconds.toString(16).padStart(12, '0').padEnd(32, '0'))
}

/** No email is older than 1970; Postgres has no year 0. */
function timestamp(date: Date): string {
  return new Date(Math.max(0, date.getTime())).toISOString()
}

/** Of 8 digits at least: fewer are the beginning of weeks. */
const ID_BEGINNING = /^[0-9a-f]{8}[0-9a-f-]{0,28}$/
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The first and the last id that begin so; none when it is no beginning of an id. */
function idsOf(text = ''): string[] {
  const ids = [FIRST_ID, LAST_ID].map(id => text + id.slice(text.length))
  return ID_BEGINNING.test(text) && ids.every(id => ID.test(id)) ? ids : []
}
