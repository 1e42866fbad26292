import { allConditions } from '#lib/segments/conditions.ts'
import type { Page, Position } from '#sql/page.ts'
import type { Queryable } from '#sql/pool.ts'
import { isFound } from '#sql/segments/compile.ts'
import { isInSegments } from '#sql/segments/contact_segments.ts'
import { PLAN_HINTS } from '#sql/segments/plan_hints.ts'
import type { ListedSegment, SegmentCriteria } from '#sql/segments/segment_records.ts'
import { listCriteria, listSegmentsById } from '#sql/segments/segments.ts'
import { loadTerms, type Terms } from '#sql/segments/terms.ts'

/** Segments read at once. */
const BATCH = 100

/** Maximum number of conditions evaluated per statement. A segment has up to 50, and may name segments with as many. */
const MAX_CONDITIONS = 1_000

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
    for (const group of groupsOf(segments, terms)) {
      if (ids.length > limit) break
      const compiled = group.map(segment => ({ id: segment.id, isFound: isFound(segment, terms, PLAN_HINTS.forFew) }))
      const hits = await isInSegments(db, account_id, contact_id, compiled)
      ids.push(...group.filter((_, n) => hits[n]).map(({ id }) => id))
    }
    const last = segments.at(-1)?.id
    next = before ? { limit, before: last } : { limit, after: last }
  }
  const data = await listSegmentsById(db, account_id, ids.slice(0, limit))
  return { object: 'list', has_more: ids.length > limit, data: before ? data.reverse() : data }
}

/** Divides segments into groups with at most MAX_CONDITIONS; a single segment may have more. */
function groupsOf(segments: SegmentCriteria[], terms: Terms): SegmentCriteria[][] {
  const groups: SegmentCriteria[][] = []
  let room = 0
  for (const segment of segments) {
    const size = sizeOf(segment, terms)
    if (size > room) {
      groups.push([])
      room = MAX_CONDITIONS
    }
    groups.at(-1)?.push(segment)
    room -= size
  }
  return groups
}

/** Counts the conditions of a segment and of those that it names. */
function sizeOf(segment: SegmentCriteria, { segments }: Terms): number {
  const sizes = allConditions(segment).map(({ condition }) => {
    const named = condition.field === 'segment' ? segments.get(condition.value) : undefined
    return 1 + (named ? allConditions(named).length : 0)
  })
  return sizes.reduce((sum, size) => sum + size, 1)
}
