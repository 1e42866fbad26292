import { changed, deleted, listOf } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation, TAKEN } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { changeFallback, createProperty } from '#flows/contacts/change_property.ts'
import { removeProperty } from '#flows/segments/remove_property.ts'
import { NewProperty, PropertyChange } from '#lib/contacts/new_property.ts'
import { orNotFound } from '#lib/errors.ts'
import { ContactProperty, findProperty, listProperties } from '#sql/contacts/properties.ts'

const params = { id: uuidParam('Contact property') }

export const contactProperties = [
  operation('POST /contact-properties', {
    id: 'createContactProperty',
    access: 'full',
    summary: 'Add a property to contacts',
    body: json(NewProperty),
    answers: { 201: ContactProperty },
    errors: ['missing_required_field', TAKEN],
  }).handle(async (ctx, { account_id, body }) => createProperty(ctx.pool, account_id, body())),

  operation('GET /contact-properties', {
    id: 'listContactProperties',
    access: 'full',
    summary: 'List contact properties, newest first',
    query: wholeQuery({}),
    answers: { 200: listOf(ContactProperty) },
  }).handle(async (ctx, { account_id, query }) => listProperties(ctx.pool, account_id, query().position)),

  operation('GET /contact-properties/:id', {
    id: 'getContactProperty',
    access: 'full',
    params,
    summary: 'Get a contact property',
    answers: { 200: ContactProperty },
  }).handle(async (ctx, { account_id, params: { id } }) =>
    orNotFound('Contact property', await findProperty(ctx.pool, account_id, id)),
  ),

  operation('PATCH /contact-properties/:id', {
    id: 'updateContactProperty',
    access: 'full',
    params,
    summary: 'Change the fallback value of a contact property',
    body: json(PropertyChange),
    answers: { 200: changed('contact_property') },
    errors: ['missing_required_field'],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    orNotFound('Contact property', await findProperty(ctx.pool, account_id, id))
    await changeFallback(ctx.pool, account_id, id, body().fallback_value)
    return { object: 'contact_property', id }
  }),

  operation('DELETE /contact-properties/:id', {
    id: 'deleteContactProperty',
    access: 'full',
    params,
    summary: 'Delete a contact property and its values',
    description:
      'A property that a segment, an enabled automation, a run in progress, or a campaign that is scheduled or being sent uses cannot be deleted.',
    answers: { 200: deleted('contact_property') },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await removeProperty(ctx.pool, account_id, id)
    return { object: 'contact_property', id, deleted: true }
  }),
]
