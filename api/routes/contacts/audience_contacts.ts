import { z } from 'zod'
import { apiOrigin, CONTACT_WRITE_ERRORS, contactParam, type NamedContact, segmentFilter } from '#api/contact_ref.ts'
import type { Context } from '#api/context.ts'
import { changed, deleted, listOf } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { changeContact, leaveAudience } from '#flows/contacts/change_contact.ts'
import { saveContact } from '#flows/contacts/save_contact.ts'
import { leaveSegment } from '#flows/segments/change_membership.ts'
import { placeInGroup, refInGroup, requireContactGroup } from '#flows/segments/contact_group.ts'
import { ContactChange, NewAudienceContact } from '#lib/contacts/new_contact.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import { Contact, findContact, findContactIds, listContacts } from '#sql/contacts/contacts.ts'

const RemovedContact = deleted('contact')
  .extend({ contact: z.string().describe('The same as `id`.') })
  .meta({ id: 'RemovedContact' })

const audience = { audience_id: uuidParam('Audience') }
const params = { ...audience, id: contactParam }

export const audienceContacts = [
  operation('POST /audiences/:audience_id/contacts', {
    id: 'createAudienceContact',
    access: 'full',
    isAudited: false,
    params: audience,
    summary: 'Create or change a contact in an audience',
    description:
      'If the domain already has a contact with this address, its given fields are changed, it joins the audience, and the status is 200.',
    body: json(NewAudienceContact),
    answers: { 201: Contact, 200: Contact },
    errors: ['missing_required_field', ...CONTACT_WRITE_ERRORS],
  }).handle(async (ctx, { account_id, params: { audience_id }, body }) => {
    const group = await requireContactGroup(ctx.pool, account_id, audience_id)
    const given = body()
    const { place, segments } = placeInGroup(account_id, group, given.segments)
    const { is_new, contact } = await saveContact(ctx.pool, place, { ...given, segments }, apiOrigin(ctx))
    ctx.status = is_new ? 201 : 200
    return contact
  }),

  operation('GET /audiences/:audience_id/contacts', {
    id: 'listAudienceContacts',
    access: 'full',
    params: audience,
    summary: 'List the contacts of an audience, newest first',
    query: wholeQuery({ segment_id: segmentFilter }),
    answers: { 200: listOf(Contact) },
  }).handle(async (ctx, { account_id, params: { audience_id }, query }) => {
    const group = await requireContactGroup(ctx.pool, account_id, audience_id)
    const { domain_id } = group
    const { filters, position } = query()
    const { segment_id } = filters
    if ('segment' in group) {
      if (segment_id)
        throw new ApiError('validation_error', '`segment_id` needs an audience in the path, not a segment.')
      return ctx.listSegmentContacts({ account_id, segment_id: group.segment.id }, position)
    }
    if (segment_id) return ctx.listSegmentContacts({ account_id, segment_id, domain_id, audience_id }, position)
    const named = audience_id === domain_id ? { domain_id } : { domain_id, audience_id }
    return listContacts(ctx.pool, account_id, named, position)
  }),

  operation('GET /audiences/:audience_id/contacts/:id', {
    id: 'getAudienceContact',
    access: 'full',
    params,
    summary: 'Get a contact of an audience',
    answers: { 200: Contact },
  }).handle(async (ctx, { account_id, params }) => {
    const { ref } = await findRef(ctx, account_id, params)
    return orNotFound('Contact', await findContact(ctx.pool, account_id, ref))
  }),

  operation('PATCH /audiences/:audience_id/contacts/:id', {
    id: 'updateAudienceContact',
    access: 'full',
    isAudited: false,
    params,
    summary: 'Change a contact of an audience',
    body: json(ContactChange),
    answers: { 200: changed('contact') },
    errors: CONTACT_WRITE_ERRORS,
  }).handle(async (ctx, { account_id, params, body }) => {
    const { ref } = await findRef(ctx, account_id, params)
    orNotFound('Contact', await findContactIds(ctx.pool, account_id, ref))
    const { domain: _, ...fields } = body()
    return { object: 'contact', id: await changeContact(ctx.pool, { account_id, ref }, fields, apiOrigin(ctx)) }
  }),

  operation('DELETE /audiences/:audience_id/contacts/:id', {
    id: 'deleteAudienceContact',
    access: 'full',
    params,
    summary: 'Remove a contact from an audience',
    description:
      'It stays a contact of the domain, unless the audience is the default audience: then it is deleted. The path may also ' +
      'name a segment, from which only contacts that were added by hand can be removed.',
    answers: { 200: RemovedContact },
    errors: CONTACT_WRITE_ERRORS,
  }).handle(async (ctx, { account_id, params }) => {
    const { group, ref } = await findRef(ctx, account_id, params)
    const id =
      'segment' in group
        ? (await leaveSegment(ctx.pool, { account_id, ref, segment_id: group.segment.id })).contact_id
        : await leaveAudience(ctx.pool, { account_id, ref: { ...ref, audience_id: group.audience_id } })
    return { object: 'contact', id, contact: id, deleted: true }
  }),
]

/** Returns the group that a path names, and a reference that finds the contact only if it is in the group. */
async function findRef({ pool }: Context, account_id: string, named: { audience_id: string; id: NamedContact }) {
  const group = await requireContactGroup(pool, account_id, named.audience_id)
  return { group, ref: await refInGroup(pool, account_id, group, named.id) }
}
