import type { ContactPlace } from '#flows/contacts/join_groups.ts'
import { notFound, orNotFound } from '#lib/errors.ts'
import { findAudience } from '#sql/contacts/audiences.ts'
import { type ContactRef, findContactIds } from '#sql/contacts/contacts.ts'
import type { Queryable } from '#sql/pool.ts'
import type { Segment } from '#sql/segments/segment_records.ts'
import { findSegment } from '#sql/segments/segments.ts'
import { isInSegment } from './is_in_segment.ts'

/** An audience, or a segment instead: the `resend` package uses its audiences as segments. */
export type ContactGroup = { domain_id: string } & ({ audience_id: string } | { segment: Segment })

/** @throws {ApiError} 404 if the id is neither of an audience nor of a segment */
export async function requireContactGroup(db: Queryable, account_id: string, id: string): Promise<ContactGroup> {
  const audience = await findAudience(db, account_id, id)
  if (audience) return { domain_id: audience.domain_id, audience_id: audience.id }
  const segment = orNotFound('Audience', await findSegment(db, account_id, id))
  return { domain_id: segment.audience_id, segment }
}

/**
 * Returns where to put contacts that join the group: into the audience, or into the segment in addition to `segments`.
 */
export function placeInGroup(
  account_id: string,
  group: ContactGroup,
  segments: string[] | null | undefined,
): { place: ContactPlace; segments: string[] } {
  const { domain_id } = group
  if ('audience_id' in group) return { place: { account_id, ...group }, segments: segments ?? [] }
  const place = { account_id, domain_id, audience_id: null }
  return { place, segments: [...(segments ?? []), group.segment.id] }
}

/**
 * Returns a reference that finds a contact only if it is in the group. @throws {ApiError} 404 if it is not in the
 * segment
 */
export async function refInGroup(
  db: Queryable,
  account_id: string,
  group: ContactGroup,
  named: { id: string } | { email: string },
): Promise<ContactRef> {
  const { domain_id } = group
  if ('audience_id' in group) return { ...named, domain_id, audience_id: group.audience_id }
  const found = orNotFound('Contact', await findContactIds(db, account_id, { ...named, domain_id }))
  const isIn = found.domain_id === domain_id && (await isInSegment(db, account_id, found.id, group.segment))
  if (!isIn) throw notFound('Contact')
  return { id: found.id }
}
