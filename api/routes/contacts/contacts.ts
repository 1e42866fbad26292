import { z } from 'zod'
import {
  apiOrigin,
  CONTACT_WRITE_ERRORS,
  contactParam,
  contactRef,
  DomainQuery,
  personRef,
  segmentFilter,
} from '#api/contact_ref.ts'
import { changed, deleted, listOf } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { flag, wholeQuery } from '#api/operations/queries.ts'
import { changeContact, removeContact } from '#flows/contacts/change_contact.ts'
import { contactPlace, requireDomain } from '#flows/contacts/contact_domain.ts'
import { saveContact } from '#flows/contacts/save_contact.ts'
import { erasePerson } from '#flows/erasure/erase_person.ts'
import { ContactChange, NewContact } from '#lib/contacts/new_contact.ts'
import { orNotFound } from '#lib/errors.ts'
import { Consent, listConsents } from '#sql/contacts/consents.ts'
import { Contact, findContact, findContactIds, listContacts } from '#sql/contacts/contacts.ts'

const params = { id: contactParam }

const ContactWithConsents = Contact.extend({
  consents: z.array(Consent).describe('The newest 100 opt-ins and opt-outs of the address.'),
}).meta({ id: 'ContactWithConsents' })

const LISTED_DOMAIN = 'Name or id of the domain. Required, unless the API key has a default domain.'

const ERASE =
  '`true` erases the person: it also deletes the contents of email to this address alone, received email from it, and its suppression, unless another domain has a contact of this address. The path may then have an address that is no contact (any more).'
const Erased = z
  .object({
    emails: z.int().describe('Sent emails whose contents, recipients and events were deleted.'),
    pending_emails: z.int().describe('Emails that are not sent yet. They were not changed.'),
    received_emails: z.int().describe('Received emails that were deleted.'),
    suppressions: z.int().describe('1 if a suppression of the address was deleted, else 0.'),
  })
  .meta({ id: 'ErasedPerson' })

const DeletedContact = deleted('contact')
  .extend({
    id: z.string().describe('Id of the contact; with `erase`, the address if it is no contact.'),
    contact: z.string().describe('The same as `id`.'),
    erased: Erased.optional().describe('With `erase`: how much was erased.'),
  })
  .meta({ id: 'DeletedContact' })

export const contacts = [
  operation('POST /contacts', {
    id: 'createContact',
    access: 'full',
    isAudited: false,
    summary: 'Create or change a contact',
    description:
      'If the domain already has a contact with this address, its given fields are changed, and the status is 200.',
    body: json(NewContact),
    answers: { 201: Contact, 200: Contact },
    errors: ['missing_required_field', 'not_found', ...CONTACT_WRITE_ERRORS],
  }).handle(async (ctx, { body }) => {
    const { domain, audience_id, ...given } = body()
    const place = await contactPlace(ctx.pool, { caller: ctx.state.caller, domain, audience_id })
    const { is_new, contact } = await saveContact(ctx.pool, place, given, apiOrigin(ctx))
    ctx.status = is_new ? 201 : 200
    return contact
  }),

  operation('GET /contacts', {
    id: 'listContacts',
    access: 'full',
    summary: 'List the contacts of a domain, newest first',
    query: wholeQuery({ domain: z.string().optional().describe(LISTED_DOMAIN), segment_id: segmentFilter }),
    answers: { 200: listOf(Contact) },
    errors: ['not_found'],
  }).handle(async (ctx, { account_id, query }) => {
    const { filters, position } = query()
    const { domain, segment_id } = filters
    const domain_id = await requireDomain(ctx.pool, { caller: ctx.state.caller, domain })
    if (segment_id) return ctx.listSegmentContacts({ account_id, segment_id, domain_id }, position)
    return listContacts(ctx.pool, account_id, { domain_id }, position)
  }),

  operation('GET /contacts/:id', {
    id: 'getContact',
    access: 'full',
    params,
    summary: 'Get a contact with its opt-ins and opt-outs',
    query: DomainQuery,
    answers: { 200: ContactWithConsents },
  }).handle(async (ctx, { account_id, params, query }) => {
    const ref = await contactRef(ctx, params.id, query().domain)
    const contact = orNotFound('Contact', await findContact(ctx.pool, account_id, ref))
    return { ...contact, consents: await listConsents(ctx.pool, { account_id, ...contact }) }
  }),

  operation('PATCH /contacts/:id', {
    id: 'updateContact',
    access: 'full',
    isAudited: false,
    params,
    summary: 'Change a contact',
    description: '`domain` is needed only if the path has the email address.',
    body: json(ContactChange),
    answers: { 200: changed('contact') },
    errors: CONTACT_WRITE_ERRORS,
  }).handle(async (ctx, { account_id, params, body }) => {
    if ('id' in params.id) orNotFound('Contact', await findContactIds(ctx.pool, account_id, params.id))
    const { domain, ...fields } = body()
    const ref = await contactRef(ctx, params.id, domain, { isStrict: true })
    return { object: 'contact', id: await changeContact(ctx.pool, { account_id, ref }, fields, apiOrigin(ctx)) }
  }),

  operation('DELETE /contacts/:id', {
    id: 'deleteContact',
    access: 'full',
    params,
    summary: 'Delete a contact',
    description: 'Its opt-outs are kept: they apply again if a contact is created for the address.',
    query: DomainQuery.extend({ erase: flag.describe(ERASE) }),
    answers: { 200: DeletedContact },
    errors: CONTACT_WRITE_ERRORS,
  }).handle(async (ctx, { account_id, params, query }) => {
    const { domain, erase } = query()
    const { id, ...more } = erase
      ? await erasePerson(ctx, account_id, await personRef(ctx, params.id, domain))
      : { id: await removeContact(ctx.pool, { account_id, ref: await contactRef(ctx, params.id, domain) }) }
    return { object: 'contact', id, contact: id, deleted: true, ...more }
  }),
]
