import { refuseUsed } from '#flows/domains/removal/refuse_used.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { type Criteria, type Filter, NO_FILTER } from '#lib/segments/conditions.ts'
import type { FilterChange, NewSegment, SegmentChange } from '#lib/segments/new_segment.ts'
import { addJob } from '#sql/jobs.ts'
import type { Pool } from '#sql/pool.ts'
import { refuseDeletedDomain, refuseDuplicate } from '#sql/retry.ts'
import type { Segment } from '#sql/segments/segment_records.ts'
import {
  deleteSegment,
  findSegment,
  insertSegment,
  lockSegment,
  lockSegments,
  updateSegment,
} from '#sql/segments/segments.ts'
import { findSegmentNaming } from '#sql/segments/usages.ts'
import { checkCriteria } from './check_criteria.ts'

const NAME_TAKEN = '`name` is used by another segment of the domain.'

type Place = { account_id: string; domain_id: string }

/** Adds a segment to a domain. @throws {ApiError} 422 for wrong conditions; 409 if the domain has a segment of this name */
export async function createSegment(
  pool: Pool,
  { account_id, domain_id }: Place,
  { name, filter, rules }: Pick<NewSegment, 'name' | 'filter' | 'rules'>,
): Promise<Segment> {
  const id = newId()
  const criteria: Criteria = { filter: changedFilter(NO_FILTER, filter), rules: rules ?? null }
  const insert = pool.transaction(async tx => {
    await lockSegments(tx, account_id)
    await checkCriteria(tx, { account_id, domain_id, id }, criteria, null)
    await insertSegment(tx, { ...criteria, account_id, id, domain_id, name })
  })
  await insert.catch(refuseDeletedDomain).catch(refuseDuplicate(NAME_TAKEN))
  return orNotFound('Segment', await findSegment(pool, account_id, id))
}

/**
 * Changes the given fields of a segment and of its filter.
 *
 * @throws {ApiError} 404; 422 for wrong conditions or for General; 409 if the domain has another segment of this name
 */
export async function changeSegment(pool: Pool, account_id: string, id: string, change: SegmentChange): Promise<void> {
  const update = pool.transaction(async tx => {
    await lockSegments(tx, account_id)
    const segment = orNotFound('Segment', await findSegment(tx, account_id, id))
    refuseGeneral(segment, 'changed')
    const { filter, rules } = segment
    const criteria: Criteria = {
      filter: changedFilter(filter, change.filter),
      rules: change.rules === undefined ? rules : change.rules,
    }
    await checkCriteria(tx, { account_id, domain_id: segment.audience_id, id }, criteria, { filter, rules })
    await updateSegment(tx, { ...criteria, account_id, id, name: change.name ?? segment.name })
  })
  await update.catch(refuseDuplicate(NAME_TAKEN))
}

/** Deletes a segment; a job removes its members by hand. @throws {ApiError} 404; 422 for General, or if a segment, a campaign or an automation names it */
export async function removeSegment(pool: Pool, account_id: string, id: string): Promise<void> {
  await pool.transaction(async tx => {
    await lockSegments(tx, account_id)
    refuseGeneral(orNotFound('Segment', await findSegment(tx, account_id, id)), 'deleted')
    const name = await findSegmentNaming(tx, account_id, id)
    if (name !== null) {
      const user = JSON.stringify(name)
      throw new ApiError(
        'validation_error',
        `The segment is named in the rules of the segment ${user}: change them first.`,
      )
    }
    await lockSegment(tx, account_id, id)
    await refuseUsed(tx, account_id, 'segment', id)
    await deleteSegment(tx, account_id, id)
    await addJob(tx, 'remove_leftovers', { account_id, of: 'segment', id })
  })
}

/**
 * Returns a filter with the given members changed. Null resets it to the default of a new segment, which finds
 * everybody.
 */
function changedFilter(filter: Filter, change: FilterChange | null | undefined): Filter {
  if (change === null) return NO_FILTER
  const { status, email_contains, property_filters, engagement } = change ?? {}
  return {
    status: status ?? filter.status,
    email_contains: email_contains === undefined ? filter.email_contains : email_contains,
    property_filters: property_filters ?? filter.property_filters,
    engagement: engagement === undefined ? filter.engagement : engagement,
  }
}

/** Rejects a change of General, whose id is that of its domain. */
function refuseGeneral({ id, audience_id }: Segment, verb: string): void {
  if (id === audience_id) throw new ApiError('validation_error', `The segment General of a domain cannot be ${verb}.`)
}
