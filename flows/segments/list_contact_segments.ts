import type { Page, Position } from '#sql/page.ts'
import type { Queryable } from '#sql/pool.ts'
import { isFound } from '#sql/segments/compile.ts'
import { isInSegments } from '#sql/segments/contact_segments.ts'
import { PLAN_HINTS } from '#sql/segments/plan_hints.ts'
import type { ListedSegment } from '#sql/segments/segment_records.ts'
import { listCriteria, listSegmentsById } from '#sql/segments/segments.ts'
import { loadTerms } from '#sql/segments/terms.ts'

/** Segments evaluated per statement: each has up to 50 conditions, and may name segments with as many. */
const BATCH = 20

type OfContact = { account_id: string; domain_id: string; contact_id: string }

/** Returns the segments that a contact is in, by filter or by hand, newest first. */
export async function listContactSegments(
  db: Queryable,
  { account_id, domain_id, contact_id }: OfContact,
  position: Position,
): Promise<Page<ListedSegment>> {
  const { limit, before } = position
  const ids: string[] = []
  let next = position
  while (ids.length <= limit) {
    const segments = await listCriteria(db, { account_id, domain_id }, { ...next, limit: BATCH })
    if (segments.length === 0) break
    const terms = await loadTerms(db, { account_id, domain_id }, segments)
    const compiled = segments.map(segment => ({ id: segment.id, isFound: isFound(segment, terms, PLAN_HINTS.forFew) }))
    const hits = await isInSegments(db, account_id, contact_id, compiled)
    ids.push(...segments.filter((_, n) => hits[n]).map(({ id }) => id))
    const last = segments.at(-1)?.id
    next = before ? { limit, before: last } : { limit, after: last }
  }
  const data = await listSegmentsById(db, account_id, ids.slice(0, limit))
  return { object: 'list', has_more: ids.length > limit, data: before ? data.reverse() : data }
}
