import { z } from 'zod'
import { apiOrigin, CONTACT_WRITE_ERRORS } from '#api/contact_ref.ts'
import type { Context } from '#api/context.ts'
import { readRequestKey } from '#api/middleware/idempotency.ts'
import { auditChange } from '#api/operations/audit.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { answerRequested, KEY_ERRORS } from '#api/send_requested.ts'
import { defineEvent } from '#flows/events/define_event.ts'
import { sendEvent } from '#flows/events/send_event.ts'
import { NewEventDefinition } from '#lib/events/new_definition.ts'
import { NewEvent } from '#lib/events/new_event.ts'
import { parse } from '#lib/json/parse.ts'
import { EventDefinition } from '#sql/events/definitions.ts'

const SentEvent = z
  .object({
    object: z.literal('event'),
    id: z.string(),
    event: z.string().describe('Name of the event.'),
    name: z.string().describe('The same as `event`.'),
    contact_id: z.string().describe('Id of the contact.'),
    enrolled: z.int().describe('Number of automations that the contact has entered because of it.'),
  })
  .meta({ id: 'SentEvent' })

type SentEvent = z.output<typeof SentEvent>

const EventOrDefinition = z
  .union([NewEventDefinition, NewEvent], 'must be an event or its definition')
  .meta({ id: 'EventOrDefinition' })

const SEND_ERRORS = [
  ...KEY_ERRORS,
  ...(['missing_required_field', 'not_found', 'automation_quota_exceeded'] as const),
  ...(['sending_service_unavailable', ...CONTACT_WRITE_ERRORS] as const),
]

export const sentEvents = [
  operation<Record<never, never>, undefined, unknown, EventDefinition | SentEvent>('POST /events', {
    id: 'createEvent',
    access: 'full',
    isAudited: false, // what is sent; a definition is audited below
    summary: 'Define an event, or send one',
    description:
      'A body without a contact defines an event: its name and the types of its payload. A body with `contact_id` or `email` ' +
      'sends one, as `POST /events/send` does.',
    // Only describes the body: its members decide which of the two it is.
    body: json(EventOrDefinition),
    headers: ['Idempotency-Key'],
    answers: { 201: EventDefinition, 202: SentEvent },
    errors: SEND_ERRORS,
  }).handle(async (ctx, { account_id }) => {
    const { body } = ctx.state
    if (isSent(body)) return send(ctx, '/events')
    const definition = parse(NewEventDefinition, body)
    const defined = await answerRequested(ctx, '/events', tx => defineEvent(tx, account_id, definition))
    if (!ctx.state.is_replay) await auditChange(ctx, 'createEvent', '/events', defined)
    return defined
  }),

  operation('POST /events/send', {
    id: 'sendEvent',
    access: 'full',
    isAudited: false,
    summary: 'Send an event for a contact',
    description:
      'Starts the automations that the event triggers, and continues runs that wait for it. An event without a ' +
      'definition may have any payload.',
    body: json(NewEvent),
    headers: ['Idempotency-Key'],
    answers: { 202: SentEvent },
    errors: SEND_ERRORS,
  }).handle(ctx => send(ctx, '/events/send')),
]

/** True if a body has a member that names a contact, whatever its value: then it is an event. */
function isSent(body: unknown): boolean {
  const members = Object(body)
  return ['contact_id', 'contactId', 'email'].some(name => Object.hasOwn(members, name))
}

async function send(ctx: Context, route: string): Promise<SentEvent> {
  const event = parse(NewEvent, ctx.state.body)
  const key = await readRequestKey(ctx, route)
  const { replayed, id, contact_id, enrolled } = await sendEvent(ctx, ctx.state.caller, event, key, apiOrigin(ctx))
  if (replayed) ctx.set('idempotent-replayed', 'true')
  ctx.status = 202
  return { object: 'event', id, event: event.name, name: event.name, contact_id, enrolled }
}
