import { z } from 'zod'
import { apiOrigin, CONTACT_WRITE_ERRORS, contactParam, contactRef, DomainQuery } from '#api/contact_ref.ts'
import { listOf } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { changeChoices } from '#flows/topics/change_choices.ts'
import { TopicChoice } from '#lib/contacts/new_contact.ts'
import { orNotFound } from '#lib/errors.ts'
import { ChoiceChange } from '#lib/topics/topic_choices.ts'
import { findContact, findContactIds } from '#sql/contacts/contacts.ts'
import { ContactTopic, listContactTopics } from '#sql/topics/contact_topics.ts'

const params = { id: contactParam }

const ChangedChoices = z
  .object({
    object: z.literal('contact_topics'),
    id: z.string(),
    contact_id: z.string().describe('Id of the contact.'),
    topics: z.array(TopicChoice).describe('The choices as given.'),
  })
  .meta({ id: 'ChangedTopicChoices' })

export const contactTopics = [
  operation('GET /contacts/:id/topics', {
    id: 'listContactTopics',
    access: 'full',
    params,
    summary: 'List the topics of a contact, newest first',
    description:
      '`subscription` says whether the contact gets the topic; `choice` is what the contact has chosen, or null.',
    query: wholeQuery(DomainQuery.shape),
    answers: { 200: listOf(ContactTopic) },
  }).handle(async (ctx, { account_id, params, query }) => {
    if ('id' in params.id) orNotFound('Contact', await findContactIds(ctx.pool, account_id, params.id))
    const { position, filters } = query()
    const ref = await contactRef(ctx, params.id, filters.domain)
    const contact = orNotFound('Contact', await findContact(ctx.pool, account_id, ref))
    return listContactTopics(ctx.pool, { ...contact, account_id }, position)
  }),

  operation('PATCH /contacts/:id/topics', {
    id: 'updateContactTopics',
    access: 'full',
    isAudited: false,
    params,
    summary: 'Opt a contact in to topics or out of them',
    description: 'Topics that are not listed stay as they are. The list of topics may also be the whole body.',
    query: DomainQuery,
    body: json(ChoiceChange),
    answers: { 200: ChangedChoices },
    errors: ['missing_required_field', ...CONTACT_WRITE_ERRORS],
  }).handle(async (ctx, { account_id, params, query, body }) => {
    if ('id' in params.id) orNotFound('Contact', await findContactIds(ctx.pool, account_id, params.id))
    const { topics } = body()
    const ref = await contactRef(ctx, params.id, query().domain)
    const contact_id = await changeChoices(ctx.pool, { account_id, ref }, topics, apiOrigin(ctx))
    return { object: 'contact_topics', id: contact_id, contact_id, topics }
  }),
]
