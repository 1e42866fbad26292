import { z } from 'zod'
import { changed, deleted, listOf } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation, TAKEN } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { requireDomain } from '#flows/contacts/contact_domain.ts'
import { changeTopic, createTopic, removeTopic } from '#flows/topics/change_topic.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import { NewTopic, TopicChange } from '#lib/topics/new_topic.ts'
import { findOwnDomain } from '#sql/domains/own_domains.ts'
import { findTopic, listTopics, Topic } from '#sql/topics/topics.ts'

const params = { id: uuidParam('Topic') }

export const topics = [
  operation('POST /topics', {
    id: 'createTopic',
    access: 'full',
    summary: 'Create a topic',
    description:
      'Contacts opt in to topics and out of them. An email with a `topic_id` goes only to recipients who are subscribed.',
    body: json(NewTopic),
    answers: { 201: Topic },
    errors: ['missing_required_field', 'not_found', TAKEN],
  }).handle(async (ctx, { account_id, body }) => {
    const { domain_id: id = null, domain = null, ...topic } = body()
    const named = domain === null ? null : await requireDomain(ctx.pool, { caller: ctx.state.caller, domain })
    const domain_id = id ? orNotFound('Domain', await findOwnDomain(ctx.pool, account_id, { id })) : named
    if (named !== null && named !== domain_id) {
      throw new ApiError('validation_error', '`domain` and `domain_id` must be the same domain.')
    }
    return createTopic(ctx.pool, { ...topic, account_id, domain_id })
  }),

  operation('GET /topics', {
    id: 'listTopics',
    access: 'full',
    summary: 'List topics, newest first',
    query: wholeQuery({
      domain: z.string().optional().describe('Only topics of contacts of this domain, by its name or id.'),
    }),
    answers: { 200: listOf(Topic) },
  }).handle(async (ctx, { account_id, query }) => {
    const { position, filters } = query()
    const { domain } = filters
    const domain_id =
      domain === undefined ? undefined : await requireDomain(ctx.pool, { caller: ctx.state.caller, domain })
    return listTopics(ctx.pool, account_id, { domain_id }, position)
  }),

  operation('GET /topics/:id', {
    id: 'getTopic',
    access: 'full',
    params,
    summary: 'Get a topic',
    answers: { 200: Topic },
  }).handle(async (ctx, { account_id, params: { id } }) =>
    orNotFound('Topic', await findTopic(ctx.pool, account_id, id)),
  ),

  operation('PATCH /topics/:id', {
    id: 'updateTopic',
    access: 'full',
    params,
    summary: 'Change a topic',
    description:
      '`default_subscription` and the domain cannot be changed, since contacts have made their choices based on them.',
    body: json(TopicChange),
    answers: { 200: changed('topic') },
    errors: [TAKEN],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    orNotFound('Topic', await findTopic(ctx.pool, account_id, id))
    await changeTopic(ctx.pool, account_id, id, body())
    return { object: 'topic', id }
  }),

  operation('DELETE /topics/:id', {
    id: 'deleteTopic',
    access: 'full',
    params,
    summary: 'Delete a topic and the choices of contacts about it',
    answers: { 200: deleted('topic') },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await removeTopic(ctx.pool, account_id, id)
    return { object: 'topic', id, deleted: true }
  }),
]
