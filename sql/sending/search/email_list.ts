import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { FIRST_ID, firstId, idRange, LAST_ID, previousId } from '#lib/id_ranges.ts'
import { searchedTerms } from '#lib/sending/search_terms.ts'
import { findDomainByName } from '#sql/domains/domains.ts'
import { emptyPage, type Ids, type Page, type Position, readHeavyPage } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { ListedEmail } from '#sql/sending/email_records.ts'
import { listedColumns } from '#sql/sending/emails.ts'
import { findTemplateId } from '#sql/templates/templates.ts'
import { campaignIds, type OfCampaign } from './campaign_emails.ts'

/** Filters of emails. All given filters apply. */
export type EmailFilters = {
  /** Any of these statuses. */
  folder?: string[] | undefined
  /** Any of these statuses, or any of these last events: `opened`, `clicked`. */
  status?: { statuses: string[]; events: string[] } | undefined
  /** Text within one line, or the prefix of an id. */
  q?: string | undefined
  campaign?: OfCampaign
  domain?: { name: string } | { id: string } | undefined
  /** Given by id, it may have been deleted. */
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

/** Lists emails, newest first. */
export async function listEmails(
  db: Queryable,
  account_id: string,
  position: Position,
  filters: EmailFilters = {},
): Promise<Page<ListedEmail>> {
  const domain_id = await domainIdOf(db, account_id, filters.domain)
  const template_id = await templateIdOf(db, account_id, filters.template)
  if (domain_id === null || template_id === null || filters.folder?.length === 0 || filters.campaign === 'impossible') {
    return emptyPage()
  }
  const row = (id: FragmentSqlToken) => sql.fragment`
    SELECT ${listedColumns} FROM emails e WHERE e.account_id = ${account_id} AND e.id = ${id}
  `
  const isFiltered = Object.values(filters).some(value => value !== undefined)
  if (!isFiltered)
    return readHeavyPage(db, position, { type: ListedEmail, ids: allIds(account_id), row, name: 'list_emails' })

  const q = filters.q === undefined ? undefined : await foldCase(db, filters.q)
  const given = toSearch(account_id, position, { ...filters, q }, { domain_id, template_id })
  const ofCampaign = campaignIds(account_id, filters.campaign, JSON.stringify(given))
  if (ofCampaign) return readHeavyPage(db, position, { type: ListedEmail, ids: ofCampaign, row })
  const ids = searchedIds(account_id, given, position)
  return readHeavyPage(db, position, { type: ListedEmail, ids, row, name: 'search_emails' })
}

function allIds(account_id: string): Ids {
  return (where, order, limit) => sql.fragment`
    SELECT id FROM emails WHERE account_id = ${account_id} AND ${where} ORDER BY ${order} LIMIT ${limit}
  `
}

function searchedIds(account_id: string, given: Search, { before }: Position): Ids {
  const is_ascending = before !== undefined
  return (_where, _order, limit) => sql.fragment`
    SELECT s.id
    FROM search_emails(${account_id}, ${JSON.stringify(given)}::json, ${limit}, ${is_ascending}) WITH ORDINALITY
      AS s(id, position)
    ORDER BY s.position
  `
}

/** Returns undefined if no domain is given, and null if it does not exist. */
async function domainIdOf(db: Queryable, account_id: string, domain: EmailFilters['domain']) {
  if (!domain || 'id' in domain) return domain?.id
  return (await findDomainByName(db, account_id, domain.name))?.id ?? null
}

async function templateIdOf(db: Queryable, account_id: string, template: EmailFilters['template']) {
  if (!template || 'id' in template) return template?.id
  return findTemplateId(db, account_id, template.alias)
}

/**
 * Folds case; beyond ASCII by the database, which also folds the emails and may know an older Unicode version than
 * Node.
 */
async function foldCase(db: Queryable, text: string): Promise<string> {
  if (!/\P{ASCII}/u.test(text)) return text.toLowerCase()
  const { folded } = await db.one(sql.type(z.object({ folded: z.string() }))`SELECT fold_case(${text}) AS folded`)
  return folded
}

/** The type email_search of sql/sending/search/search_emails.sql. */
type Search = Record<string, unknown> & { above: string; upto: string }

function toSearch(
  account_id: string,
  { after, before }: Position,
  { campaign, folder, status, q, tag, from, to, created_after, created_before }: EmailFilters,
  { domain_id, template_id }: { domain_id: string | undefined; template_id: string | undefined },
): Search {
  const [name, value] = tag?.split(':') ?? []
  const [first_id, last_id] = idRange(q)
  return {
    above: latest(before?.toLowerCase() ?? FIRST_ID, created_after && firstId(created_after, -CLOCKS_MS)),
    upto: earliest(after ? previousId(after) : LAST_ID, created_before && firstId(created_before, CLOCKS_MS)),
    folder,
    statuses:
      status && folder ? status.statuses.filter(status => folder.includes(status)) : (status?.statuses ?? folder),
    last_events: status?.events ?? [],
    q,
    first_id,
    last_id,
    domain_id,
    template_id,
    is_transactional: campaign === 'none',
    tag: tag && [{ name, value }],
    sender: from,
    recipient: to,
    created_after: created_after && timestamp(created_after),
    created_before: created_before && timestamp(created_before),
    ...searchedTerms(account_id, { q, from, to, domain: domain_id, template: template_id, tag }),
  }
}

/**
 * How far the clocks of web processes, whose times are in the ids, may differ from that of the database, whose times are
 * in created_at.
 */
const CLOCKS_MS = 60_000

function latest(id: string, other = id): string {
  return id > other ? id : other
}

function earliest(id: string, other = id): string {
  return id < other ? id : other
}

/** No email is older than 1970; Postgres has no year 0. */
function timestamp(date: Date): string {
  return new Date(Math.max(0, date.getTime())).toISOString()
}
