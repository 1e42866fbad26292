import { apiOrigin, CONTACT_WRITE_ERRORS, contactParam, type NamedContact, segmentFilter } from '#api/contact_ref.ts'
import type { Context } from '#api/context.ts'
import { changed, deleted, listOf } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { changeContact, leaveAudience } from '#flows/contacts/change_contact.ts'
import { saveContact } from '#flows/contacts/save_contact.ts'
import { ContactChange, NewAudienceContact } from '#lib/contacts/new_contact.ts'
import { orNotFound } from '#lib/errors.ts'
import { findAudience } from '#sql/contacts/audiences.ts'
import { Contact, findContact, findContactIds, listContacts } from '#sql/contacts/contacts.ts'

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
      'If the domain has a contact of this address, the given fields of it are changed and it joins the audience, with status 200.',
    body: json(NewAudienceContact),
    answers: { 201: Contact, 200: Contact },
    errors: ['missing_required_field', ...CONTACT_WRITE_ERRORS],
  }).handle(async (ctx, { account_id, params: { audience_id }, body }) => {
    const { domain_id } = await requireAudience(ctx, account_id, audience_id)
    const place = { account_id, domain_id, audience_id }
    const { is_new, contact } = await saveContact(ctx.pool, place, body(), apiOrigin(ctx))
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
    const { domain_id } = await requireAudience(ctx, account_id, audience_id)
    const { filters, position } = query()
    const { segment_id } = filters
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
    const ref = await refIn(ctx, account_id, params)
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
    const ref = await refIn(ctx, account_id, params)
    orNotFound('Contact', await findContactIds(ctx.pool, account_id, ref))
    const { domain: _, ...fields } = body()
    return { object: 'contact', id: await changeContact(ctx.pool, { account_id, ref }, fields, apiOrigin(ctx)) }
  }),

  operation('DELETE /audiences/:audience_id/contacts/:id', {
    id: 'deleteAudienceContact',
    access: 'full',
    params,
    summary: 'Take a contact out of an audience',
    description: 'It stays a contact of the domain. Taken out of the default audience, it is deleted.',
    answers: { 200: deleted('contact').extend({}).meta({ id: 'RemovedContact' }) },
    errors: CONTACT_WRITE_ERRORS,
  }).handle(async (ctx, { account_id, params }) => {
    const id = await leaveAudience(ctx.pool, { account_id, ref: await refIn(ctx, account_id, params) })
    return { object: 'contact', id, deleted: true }
  }),
]

async function requireAudience(ctx: Context, account_id: string, id: string) {
  return orNotFound('Audience', await findAudience(ctx.pool, account_id, id))
}

/** A contact only if it is in the audience. */
async function refIn(ctx: Context, account_id: string, named: { audience_id: string; id: NamedContact }) {
  const { domain_id } = await requireAudience(ctx, account_id, named.audience_id)
  return { ...named.id, domain_id, audience_id: named.audience_id }
}
