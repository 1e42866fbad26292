import { z } from 'zod'
import { CONTACT_WRITE_ERRORS, contactParam, contactRef, DomainQuery } from '#api/contact_ref.ts'
import { listOf } from '#api/operations/answers.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { joinSegment, leaveSegment } from '#flows/segments/change_membership.ts'
import { listContactSegments } from '#flows/segments/list_contact_segments.ts'
import { orNotFound } from '#lib/errors.ts'
import { findContactIds } from '#sql/contacts/contacts.ts'
import { ListedSegment } from '#sql/segments/segment_records.ts'

const contact = { id: contactParam }
const params = { ...contact, segment_id: uuidParam('Segment') }

const membership = {
  object: z.literal('contact_segment'),
  id: z.string(),
  contact_id: z.string().describe('Id of the contact.'),
  segment_id: z.string().describe('Id of the segment.'),
}
const Membership = z.object(membership).meta({ id: 'ContactSegment' })
const DeletedMembership = z
  .object({
    ...membership,
    audienceId: z.string().describe('The same as `segment_id`, as the `resend` package names it.'),
    deleted: z.literal(true),
  })
  .meta({ id: 'DeletedContactSegment' })

export const contactSegments = [
  operation('GET /contacts/:id/segments', {
    id: 'listContactSegments',
    access: 'full',
    params: contact,
    summary: 'List the segments that a contact is in, newest first',
    description: 'Includes segments whose filter or rules find the contact, and those that it was added to by hand.',
    query: wholeQuery(DomainQuery.shape),
    answers: { 200: listOf(ListedSegment) },
  }).handle(async (ctx, { account_id, params, query }) => {
    if ('id' in params.id) orNotFound('Contact', await findContactIds(ctx.pool, account_id, params.id))
    const { filters, position } = query()
    const ref = await contactRef(ctx, params.id, filters.domain)
    const { id, domain_id } = orNotFound('Contact', await findContactIds(ctx.pool, account_id, ref))
    return listContactSegments(ctx.pool, { account_id, domain_id, contact_id: id }, position)
  }),

  operation('POST /contacts/:id/segments/:segment_id', {
    id: 'addContactToSegment',
    access: 'full',
    isAudited: false,
    params,
    summary: 'Add a contact to a segment by hand',
    description: 'It stays in the segment even if the filter does not find it.',
    query: DomainQuery,
    answers: { 200: Membership },
    errors: CONTACT_WRITE_ERRORS,
  }).handle(async (ctx, { account_id, params, query }) => {
    const ref = await contactRef(ctx, params.id, query().domain)
    const membership = await joinSegment(ctx.pool, { account_id, ref, segment_id: params.segment_id })
    return { object: 'contact_segment', id: membership.segment_id, ...membership }
  }),

  operation('DELETE /contacts/:id/segments/:segment_id', {
    id: 'removeContactFromSegment',
    access: 'full',
    isAudited: false,
    params,
    summary: 'Remove a contact from a segment that it was added to by hand',
    description: 'A contact that the filter of the segment finds cannot be removed: 404.',
    query: DomainQuery,
    answers: { 200: DeletedMembership },
    errors: CONTACT_WRITE_ERRORS,
  }).handle(async (ctx, { account_id, params, query }) => {
    const ref = await contactRef(ctx, params.id, query().domain)
    const membership = await leaveSegment(ctx.pool, { account_id, ref, segment_id: params.segment_id })
    const { segment_id: id } = membership
    return { object: 'contact_segment', id, ...membership, audienceId: id, deleted: true }
  }),
]
