import { z } from 'zod'
import { changed, deleted, listOf } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation, TAKEN } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { requireDomain } from '#flows/contacts/contact_domain.ts'
import { changeSegment, createSegment, removeSegment } from '#flows/segments/change_segment.ts'
import { lookAtSegment } from '#flows/segments/count_segment.ts'
import { orNotFound } from '#lib/errors.ts'
import { NewSegment, SegmentChange } from '#lib/segments/new_segment.ts'
import { findAudience } from '#sql/contacts/audiences.ts'
import { Contact, listContacts } from '#sql/contacts/contacts.ts'
import { ListedSegment, Segment } from '#sql/segments/segment_records.ts'
import { findSegment, listSegments } from '#sql/segments/segments.ts'

const params = { id: uuidParam('Segment') }

const CRITERIA = `A segment contains the contacts that its filter and its rules find, and those that are added by hand.

Conditions of \`rules\` by their \`field\`:

* \`email\`, \`first_name\`, \`last_name\`: \`eq\`, \`contains\` (which ignores case), and \`exists\` for names.
* \`created_at\`: \`before\` and \`after\` a date or a timestamp, or \`within_days\` up to 3,660.
* \`unsubscribed\`: \`eq\` with \`true\` or \`false\`.
* \`properties.<key>\`: \`eq\`, \`contains\` and \`exists\`, or for numbers \`eq\`, \`gt\`, \`gte\`, \`lt\`, \`lte\` and \`exists\`.
  \`exists\` looks only at the contact's own values, the others also at fallback values.
* \`topic\`: \`eq\` with an id finds contacts who get mail about the topic.
* \`segment\`: \`eq\` with the id of another segment of the domain. The rules of that segment must not name a segment.
* \`engagement\`: \`opened\`, \`not_opened\`, \`clicked\` or \`not_clicked\` with one of \`{campaign_id}\`, \`{within_days}\` and \`{count}\`.
  \`not_opened\` and \`not_clicked\` find only contacts who were sent that campaign, any campaign within the days, or so many campaigns.

A condition with a deleted campaign or topic finds nobody, and neither does its negation.`

export const segments = [
  operation('POST /segments', {
    id: 'createSegment',
    access: 'full',
    summary: 'Create a segment',
    description: CRITERIA,
    body: json(NewSegment),
    answers: { 201: Segment },
    errors: ['missing_required_field', TAKEN],
  }).handle(async (ctx, { account_id, body }) => {
    const { domain, ...given } = body()
    const domain_id = await requireDomain(ctx.pool, { caller: ctx.state.caller, domain })
    return createSegment(ctx.pool, { account_id, domain_id }, given)
  }),

  operation('GET /segments', {
    id: 'listSegments',
    access: 'full',
    summary: 'List segments, newest first',
    query: wholeQuery({ domain: z.string().optional().describe('Only segments of this domain, by its name or id.') }),
    answers: { 200: listOf(ListedSegment) },
  }).handle(async (ctx, { account_id, query }) => {
    const { filters, position } = query()
    const { domain } = filters
    const domain_id =
      domain === undefined ? undefined : await requireDomain(ctx.pool, { caller: ctx.state.caller, domain })
    return listSegments(ctx.pool, account_id, { domain_id }, position)
  }),

  operation('GET /segments/:id', {
    id: 'getSegment',
    access: 'full',
    params,
    summary: 'Get a segment with the number of its contacts',
    description:
      'A number that is older than a minute is counted again in the background: repeat the request to get it.',
    answers: { 200: Segment },
  }).handle(async (ctx, { account_id, params: { id } }) =>
    orNotFound('Segment', await lookAtSegment(ctx.pool, account_id, id)),
  ),

  operation('PATCH /segments/:id', {
    id: 'updateSegment',
    access: 'full',
    params,
    summary: 'Change a segment',
    description: 'Members of `filter` that are left out stay as they are. The segment General cannot be changed.',
    body: json(SegmentChange),
    answers: { 200: changed('segment') },
    errors: [TAKEN],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    orNotFound('Segment', await findSegment(ctx.pool, account_id, id))
    await changeSegment(ctx.pool, account_id, id, body())
    return { object: 'segment', id }
  }),

  operation('DELETE /segments/:id', {
    id: 'deleteSegment',
    access: 'full',
    params,
    summary: 'Delete a segment',
    description:
      'Its contacts are kept. The segment General cannot be deleted, and neither can a segment that another segment, a scheduled campaign, an enabled automation or a run in progress uses.',
    answers: { 200: deleted('segment') },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await removeSegment(ctx.pool, account_id, id)
    return { object: 'segment', id, deleted: true }
  }),

  operation('GET /segments/:id/contacts', {
    id: 'listSegmentContacts',
    access: 'full',
    params,
    summary: 'List the contacts of a segment, newest first',
    description: 'The id of an audience is accepted too.',
    query: wholeQuery({}),
    answers: { 200: listOf(Contact) },
  }).handle(async (ctx, { account_id, params: { id }, query }) => {
    if (await findSegment(ctx.pool, account_id, id)) {
      return ctx.listSegmentContacts({ account_id, segment_id: id }, query().position)
    }
    const { domain_id } = orNotFound('Segment', await findAudience(ctx.pool, account_id, id))
    return listContacts(ctx.pool, account_id, { domain_id, audience_id: id }, query().position)
  }),
]
