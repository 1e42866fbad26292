import { writeContact } from '#flows/contacts/write_contacts.ts'
import { ApiError, notFound, orNotFound } from '#lib/errors.ts'
import { announceContacts } from '#sql/contacts/contact_changes.ts'
import type { ContactRef } from '#sql/contacts/contacts.ts'
import { addToSegments } from '#sql/contacts/memberships.ts'
import type { Pool, Queryable, Tx } from '#sql/pool.ts'
import { blockSegmentDeletion, removeMember } from '#sql/segments/contact_segments.ts'
import type { Segment } from '#sql/segments/segment_records.ts'
import { findSegment } from '#sql/segments/segments.ts'
import { isInSegment } from './is_in_segment.ts'

type Named = { account_id: string; ref: ContactRef; segment_id: string }
type Membership = { contact_id: string; segment_id: string }

/**
 * Adds a contact to a segment by hand; it stays there whatever the filter says.
 *
 * @throws {ApiError} 404, `contacts_busy`, `contacts_timeout`
 */
export async function joinSegment(pool: Pool, named: Named): Promise<Membership> {
  return writeMembership(pool, named, async (tx, { account_id, contact_id, segment_id }) => {
    // A job removes the members of a deleted segment, so none may be added later.
    if ((await blockSegmentDeletion(tx, account_id, segment_id)) === 0) throw notFound('Segment')
    const joined = await addToSegments(tx, account_id, [segment_id], [contact_id])
    await announceContacts(tx, account_id, 'contact.updated', joined)
  })
}

/**
 * Removes a contact that was added by hand from a segment.
 *
 * @throws {ApiError} 404, also if it was not added by hand; `contacts_busy`, `contacts_timeout`
 */
export async function leaveSegment(pool: Pool, named: Named): Promise<Membership> {
  return writeMembership(pool, named, async (tx, { account_id, contact_id, segment_id }, segment) => {
    const count = await removeMember(tx, account_id, segment_id, contact_id)
    if (count === 0) throw await notByHand(tx, account_id, contact_id, segment)
    await announceContacts(tx, account_id, 'contact.updated', [contact_id])
  })
}

async function writeMembership(
  pool: Pool,
  { account_id, ref, segment_id }: Named,
  write: (tx: Tx, membership: Membership & { account_id: string }, segment: Segment) => Promise<void>,
): Promise<Membership> {
  return writeContact(pool, account_id, ref, async (tx, { id: contact_id, domain_id }) => {
    const segment = orNotFound('Segment', await findSegment(tx, account_id, segment_id))
    if (segment.audience_id !== domain_id) throw notFound('Segment')
    await write(tx, { account_id, contact_id, segment_id }, segment)
    return { contact_id, segment_id }
  })
}

async function notByHand(db: Queryable, account_id: string, contact_id: string, segment: Segment): Promise<ApiError> {
  const message = (await isInSegment(db, account_id, contact_id, segment))
    ? 'The contact was not added to the segment by hand: it matches by filter.'
    : 'The contact is not in the segment.'
  return new ApiError('not_found', message)
}
