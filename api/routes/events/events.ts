import { changed, deleted, listOf } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { uuid } from '#api/operations/ids.ts'
import { operation } from '#api/operations/operation.ts'
import { type Param, param } from '#api/operations/params.ts'
import { pagedQuery } from '#api/operations/queries.ts'
import { readRecentEvents } from '#flows/events/define_event.ts'
import { notFound, orNotFound } from '#lib/errors.ts'
import { EventDefinitionChange } from '#lib/events/new_definition.ts'
import { RecentEvent } from '#sql/events/contact_events.ts'
import {
  deleteDefinition,
  EventDefinition,
  type EventRef,
  findDefinition,
  listDefinitions,
  updateDefinition,
} from '#sql/events/definitions.ts'

const eventParam: Param<EventRef> = param(
  'Event',
  text => (text === '' || text.includes('\u0000') ? null : { id: uuid(text), name: text }),
  'Id or name of the event definition.',
)
const params = { id: eventParam }

export const events = [
  operation('GET /events', {
    id: 'listEvents',
    access: 'full',
    summary: 'List event definitions, newest first',
    query: pagedQuery({}),
    answers: { 200: listOf(EventDefinition) },
  }).handle(async (ctx, { account_id, query }) => listDefinitions(ctx.pool, account_id, query().position)),

  operation('GET /events/:id', {
    id: 'getEvent',
    access: 'full',
    params,
    summary: 'Get an event definition',
    answers: { 200: EventDefinition },
  }).handle(async (ctx, { account_id, params: { id } }) =>
    orNotFound('Event', await findDefinition(ctx.pool, account_id, id)),
  ),

  operation('GET /events/:id/recent', {
    id: 'listRecentEvents',
    access: 'full',
    params,
    summary: 'List the newest 100 events with a name',
    description: 'Events are kept for 90 days. The event need not have a definition.',
    answers: { 200: listOf(RecentEvent) },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    const data = await readRecentEvents(ctx.pool, account_id, id)
    return { object: 'list', has_more: false, data }
  }),

  operation('PATCH /events/:id', {
    id: 'updateEvent',
    access: 'full',
    params,
    summary: 'Change an event definition',
    description: 'Events that were already sent stay as they are. The name cannot be changed.',
    body: json(EventDefinitionChange),
    answers: { 200: changed('event') },
  }).handle(async (ctx, { account_id, params: { id: ref }, body }) => {
    const { id } = orNotFound('Event', await findDefinition(ctx.pool, account_id, ref))
    await updateDefinition(ctx.pool, account_id, id, body().schema)
    return { object: 'event', id }
  }),

  operation('DELETE /events/:id', {
    id: 'deleteEvent',
    access: 'full',
    params,
    summary: 'Delete an event definition',
    description: 'Events with its name can still be sent, with any payload.',
    answers: { 200: deleted('event') },
  }).handle(async (ctx, { account_id, params: { id: ref } }) => {
    const { id } = orNotFound('Event', await findDefinition(ctx.pool, account_id, ref))
    if ((await deleteDefinition(ctx.pool, account_id, id)) === 0) throw notFound('Event')
    return { object: 'event', id, deleted: true }
  }),
]
