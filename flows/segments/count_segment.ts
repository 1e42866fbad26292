import { now } from '#lib/clock.ts'
import { findsAll } from '#lib/segments/conditions.ts'
import { addJob } from '#sql/jobs.ts'
import type { Pool } from '#sql/pool.ts'
import { isFound } from '#sql/segments/compile.ts'
import { countAllContacts, countContacts, findDueCount, lockCount, updateCount } from '#sql/segments/counts.ts'
import type { Segment } from '#sql/segments/segment_records.ts'
import { findSegment } from '#sql/segments/segments.ts'
import { loadTerms } from '#sql/segments/terms.ts'

/** An older count is renewed when the segment is read. */
const MAX_AGE_S = 60

/** Returns a segment with its newest count. If that is too old, a job counts its contacts again. */
export async function lookAtSegment(pool: Pool, account_id: string, id: string): Promise<Segment | null> {
  const segment = await findSegment(pool, account_id, id)
  if (segment && isDue(segment)) await addJob(pool, 'count_segment', { account_id, id }, `count_segment ${id}`)
  return segment
}

function isDue({ counted_at }: Segment): boolean {
  return counted_at === null || now().getTime() - counted_at.getTime() > MAX_AGE_S * 1_000
}

/** Counts the contacts of a segment, unless it was counted recently or is being counted. */
export async function countSegment(pool: Pool, account_id: string, id: string): Promise<void> {
  await pool.transaction(async tx => {
    if (!(await lockCount(tx, id))) return
    const due = await findDueCount(tx, account_id, id, MAX_AGE_S)
    if (!due) return
    const place = { account_id, domain_id: due.domain_id }
    const terms = await loadTerms(tx, place, [due])
    const counted = findsAll(due)
      ? await countAllContacts(tx, account_id, due.domain_id)
      : await countContacts(tx, { ...place, id, isFound: hint => isFound(due, terms, hint) })
    await updateCount(tx, account_id, due, counted)
  })
}
