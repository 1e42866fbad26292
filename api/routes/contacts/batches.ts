import { z } from 'zod'
import { apiOrigin, CONTACT_WRITE_ERRORS } from '#api/contact_ref.ts'
import type { Context } from '#api/context.ts'
import { contactsJson } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { contactPlace } from '#flows/contacts/contact_domain.ts'
import type { ContactPlace } from '#flows/contacts/join_groups.ts'
import { saveBatch } from '#flows/contacts/save_batch.ts'
import { placeInGroup, requireContactGroup } from '#flows/segments/contact_group.ts'
import { AudienceContactBatch, ContactBatch, UncheckedBatch } from '#lib/contacts/contact_batch.ts'
import { parse } from '#lib/json/parse.ts'
import { ImportCounts } from '#sql/contacts/import/imports.ts'

const SavedBatch = z
  .object({
    object: z.literal('contact_batch'),
    ...ImportCounts.shape,
    data: z
      .array(
        z.object({
          id: z.string(),
          email: z.string().describe('The address, in lower case.'),
          skipped: z
            .array(z.literal('unsubscribed'))
            .optional()
            .describe('Fields that were not applied: `unsubscribed`, if it is false and the contact has unsubscribed.'),
        }),
      )
      .describe('The contacts in the order of the request. Each address occurs once.'),
    errors: z
      .array(
        z.object({
          index: z.int().describe('Index in `contacts`.'),
          email: z.string().nullable().describe('The address as it was given.'),
          message: z.string().describe('Why it was left out.'),
        }),
      )
      .describe('The contacts that were left out.'),
  })
  .meta({ id: 'SavedContacts' })

const declared = {
  access: 'full',
  description:
    'All contacts are stored in one transaction, or none. Invalid contacts are left out and listed in `errors`. If an address ' +
    'occurs twice, the last one wins. A contact that has unsubscribed is subscribed again only with `resubscribe`.',
  answers: { 200: SavedBatch },
} as const

export const contactBatches = [
  operation('POST /contacts/batch', {
    ...declared,
    id: 'saveContacts',
    summary: 'Create or change up to 10,000 contacts',
    // Only describes the body: the contacts are checked one by one.
    body: contactsJson(ContactBatch),
    errors: ['missing_required_field', 'not_found', ...CONTACT_WRITE_ERRORS],
  }).handle(async ctx => {
    const batch = parse(UncheckedBatch, ctx.state.body)
    const { domain, audience_id } = batch
    const place = await contactPlace(ctx.pool, { caller: ctx.state.caller, domain, audience_id })
    return answer(ctx, place, batch)
  }),

  operation('POST /audiences/:audience_id/contacts/batch', {
    ...declared,
    id: 'saveAudienceContacts',
    params: { audience_id: uuidParam('Audience') },
    summary: 'Create or change up to 10,000 contacts in an audience',
    body: contactsJson(AudienceContactBatch),
    errors: ['missing_required_field', ...CONTACT_WRITE_ERRORS],
  }).handle(async (ctx, { account_id, params: { audience_id } }) => {
    const group = await requireContactGroup(ctx.pool, account_id, audience_id)
    const batch = parse(UncheckedBatch, ctx.state.body)
    const { place, segments } = placeInGroup(account_id, group, batch.segments)
    return answer(ctx, place, { ...batch, segments })
  }),
]

async function answer(ctx: Context, place: ContactPlace, batch: UncheckedBatch) {
  const { CONTACT_WRITE_MS } = ctx.config
  const { counts, contacts, faults } = await saveBatch(ctx.pool, place, batch, apiOrigin(ctx), CONTACT_WRITE_MS)
  return { object: 'contact_batch' as const, ...counts, data: contacts, errors: faults }
}
