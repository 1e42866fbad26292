import { Semaphore } from '#lib/async/semaphore.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import { findsAll, hasIndex, totalWeight } from '#lib/segments/conditions.ts'
import { type Contact, isCursorKnown, isInAudience, listContacts, listContactsById } from '#sql/contacts/contacts.ts'
import { emptyPage, type Page, type Position } from '#sql/page.ts'
import { type Pool, sql } from '#sql/pool.ts'
import { isFound } from '#sql/segments/compile.ts'
import { type Direction, type Searched, searchContacts, walkContacts } from '#sql/segments/pages.ts'
import type { PlanHint } from '#sql/segments/plan_hints.ts'
import { findSegment } from '#sql/segments/segments.ts'
import { loadTerms } from '#sql/segments/terms.ts'

/** Contacts that a page scans in order before it searches by indexes; this takes about 12 ms with few conditions. */
const WALK = 5_000
/** Total weight of conditions up to which `WALK` contacts are scanned. With heavier conditions fewer are scanned. */
const LIGHT = 8
/**
 * Maximum scans per page, in multiples of `WALK`: a page continues scanning if it has found contacts so close together that
 * the rest of the page is probably near, too. It scans less if there is an index.
 */
const MAX_WALKS = { withIndex: 2, without: 10 }
/** Safety factor, since contacts are not evenly spaced. */
const MARGIN = 1.3
/** Searches at the same time, in a pool of 10 connections: other requests need the rest. */
const SEARCHES = 2
/** A search that has waited for this long is refused. */
const PATIENCE_MS = 5_000
const SEARCH_MS = 10_000

/** `domain_id`: the segment must be of this domain. `audience_id`: only contacts that are also in this audience. */
export type NamedSegment = {
  account_id: string
  segment_id: string
  domain_id?: string
  audience_id?: string
}

/**
 * Returns one page of the contacts of a segment, newest first. The result is always exact.
 *
 * @throws {ApiError} 404; 500 with `retry-after` if it would take too long
 */
export type ListSegmentContacts = (named: NamedSegment, position: Position) => Promise<Page<Contact>>

export function createListSegmentContacts(
  pool: Pool,
  { walk = WALK, search_ms = SEARCH_MS } = {},
): ListSegmentContacts {
  const searches = new Semaphore(SEARCHES)
  return async (named, position) => {
    const { account_id, segment_id, audience_id } = named
    const segment = await findSegment(pool, account_id, segment_id)
    if (!segment || (named.domain_id ?? segment.audience_id) !== segment.audience_id) throw notFound('Segment')
    if (!(await isCursorKnown(pool, account_id, position))) return emptyPage()
    const domain_id = segment.audience_id
    const audience = audience_id === undefined || audience_id === domain_id ? {} : { audience_id }
    if (findsAll(segment)) return listContacts(pool, account_id, { domain_id, ...audience }, position)

    const terms = await loadTerms(pool, { account_id, domain_id }, [segment])
    const isAlso = audience.audience_id ? isInAudience(audience.audience_id) : sql.fragment`true`
    const searched = {
      account_id,
      domain_id,
      segment_id,
      isFound: (hint: PlanHint) => isFound(segment, terms, hint),
      isAlso,
    }
    const max_walks = hasIndex(segment) ? MAX_WALKS.withIndex : MAX_WALKS.without
    const share = Math.min(1, LIGHT / totalWeight(segment))
    const ids = await listIds(
      { pool, searches, walk: Math.ceil(walk * share), max_walks, search_ms },
      searched,
      position,
    )
    return listContactsById(pool, account_id, position, ids)
  }
}

type Services = { pool: Pool; searches: Semaphore; walk: number; max_walks: number; search_ms: number }

/** Returns one id more than the limit, if there are as many. */
async function listIds(services: Services, searched: Searched, position: Position): Promise<string[]> {
  const limit = position.limit + 1
  const direction: Direction = {
    from: position.after ?? position.before ?? null,
    isAscending: position.before !== undefined,
  }
  const ids: string[] = []
  let walked = 0
  for (let budget = services.walk; walked + budget <= services.max_walks * services.walk; ) {
    const step = await walkContacts(services.pool, searched, direction, { limit: limit - ids.length, budget })
    ids.push(...step.ids)
    if (step.last === null) return ids
    direction.from = step.last
    walked += budget
    // Distance in which the rest of the page probably lies, if anything was found.
    budget = Math.ceil((MARGIN * walked * (limit - ids.length)) / ids.length)
  }
  return [...ids, ...(await search(services, searched, direction, limit - ids.length))]
}

async function search(
  { pool, searches, search_ms }: Services,
  searched: Searched,
  direction: Direction,
  limit: number,
) {
  await searches.acquire(1, AbortSignal.timeout(PATIENCE_MS)).catch(overloaded)
  try {
    return await pool.transaction(tx => searchContacts(tx, searched, direction, { limit, timeout_ms: search_ms }))
  } finally {
    searches.release()
  }
}

function overloaded(cause: unknown): never {
  throw new ApiError('internal_server_error', 'The service is overloaded. Retry later.', {
    headers: { 'retry-after': '5' },
    cause,
  })
}
