import type { Queryable } from '#sql/pool.ts'
import { isFound } from '#sql/segments/compile.ts'
import { isInSegments } from '#sql/segments/contact_segments.ts'
import { PLAN_HINTS } from '#sql/segments/plan_hints.ts'
import type { Segment } from '#sql/segments/segment_records.ts'
import { loadTerms } from '#sql/segments/terms.ts'

/** Returns true if a contact is in a segment of its domain, by the filter, by the rules or by hand. */
export async function isInSegment(
  db: Queryable,
  account_id: string,
  contact_id: string,
  segment: Segment,
): Promise<boolean> {
  const terms = await loadTerms(db, { account_id, domain_id: segment.audience_id }, [segment])
  const condition = { id: segment.id, isFound: isFound(segment, terms, PLAN_HINTS.forFew) }
  const [isIn] = await isInSegments(db, account_id, contact_id, [condition])
  return isIn === true
}
