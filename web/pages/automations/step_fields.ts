import type { ConfigOf, StepType } from '#lib/automations/steps.ts'
import { type Html, html } from '#web/html.ts'
import { type Field, withValue } from '#web/layout/field.ts'
import { choicesOf } from '#web/pages/domains/own_domains.ts'
import { contentFields } from '#web/pages/mail/content_fields.ts'
import type { Visit } from '#web/request/visit.ts'
import { ruleHtml } from './rule_fields.ts'
import { formatName } from './step_config.ts'

/** The fields of the form of a step. `extra` is shown below them. */
export type StepFields = { fields: readonly Field[]; extra?: Html }

type Options = [value: string, name: string][]

const TRIGGER_HINT = 'Contacts enter when this event occurs.'
const TIMEZONE_HINT = 'For example, Europe/Berlin. Type contact for the time zone of the contact.'

/** Returns the fields for a type of step, with the values of its configuration or, for a new step, defaults. */
export async function stepFields(visit: Visit, type: StepType, config: unknown): Promise<StepFields> {
  return FIELDS[type](visit, config ?? {})
}

/** A configuration, empty for a new step. */
type Config<Type extends StepType> = Partial<ConfigOf<Type>>

const FIELDS: Record<StepType, (visit: Visit, config: object) => StepFields | Promise<StepFields>> = {
  trigger: (_, { event_name }: Config<'trigger'>) => ({
    fields: [{ name: 'event_name', label: 'Event', value: event_name, hint: TRIGGER_HINT, required: true }],
  }),
  send_email: sendFields,
  delay: (_, { duration, until }: Config<'delay'>) => ({
    fields: [
      {
        name: 'duration',
        label: 'Duration',
        value: duration,
        hint: 'For example, 3 days. Or choose a time of day below.',
      },
      { name: 'time', label: 'Time of day', value: until?.time, hint: 'For example, 09:00.' },
      {
        name: 'days',
        label: 'Days',
        value: until?.days?.join(', '),
        hint: 'For example, monday, tuesday. Leave empty for every day.',
      },
      { name: 'timezone', label: 'Time zone', value: until?.timezone, hint: TIMEZONE_HINT },
    ],
  }),
  wait_for_event: ({ problem }, { event_name, timeout, filter_rule }: Config<'wait_for_event'>) => ({
    fields: [
      { name: 'event_name', label: 'Event', value: event_name, required: true },
      {
        name: 'timeout',
        label: 'Timeout',
        value: timeout,
        hint: 'For example, 1 day. Leave empty to wait without a limit.',
      },
    ],
    extra: ruleHtml(filter_rule ?? null, true, problem),
  }),
  condition: ({ problem }, rule: Config<'condition'>) => ({
    fields: [],
    extra: ruleHtml('type' in rule ? (rule as ConfigOf<'condition'>) : null, false, problem),
  }),
  contact_update: updateFields,
  contact_delete: () => ({ fields: [], extra: html`<p>This step deletes the contact and ends the run.</p>` }),
  add_to_segment: segmentFields,
  remove_from_segment: segmentFields,
}

async function sendFields(visit: Visit, config: Config<'send_email'>): Promise<StepFields> {
  const { template, from, subject, reply_to = [], topic_id, html, text, poll } = config
  const none: Options = [['', 'None']]
  const templates = await choices(visit, 'listTemplates', template?.id)
  const topics = await choices(visit, 'listTopics', topic_id)
  const json = (value: unknown) => (value ? JSON.stringify(value, null, 2) : '')
  return {
    fields: [
      { name: 'template', label: 'Template', type: 'select', value: template?.id, options: [...none, ...templates] },
      {
        ...{ name: 'variables', label: 'Template variables', type: 'textarea', rows: 4 },
        value: json(template?.variables),
        hint: 'JSON, for example: {"plan": {"var": "event.plan"}}',
      },
      { name: 'from', label: 'From', value: from, hint: 'Leave empty to use the sender of the template.' },
      { name: 'subject', label: 'Subject', value: subject, hint: 'Leave empty to use the subject of the template.' },
      { name: 'reply_to', label: 'Reply-To', value: reply_to.join(', ') },
      { name: 'topic_id', label: 'Topic', type: 'select', value: topic_id, options: [...none, ...topics] },
      ...contentFields({ html, text }, { html: { rows: 8, hint: 'Leave empty if you choose a template.' } }),
      {
        name: 'poll',
        label: 'Poll',
        type: 'textarea',
        rows: 4,
        value: json(poll),
        hint: 'JSON. Leave empty for no poll.',
      },
    ],
  }
}

function updateFields(_: Visit, config: Config<'contact_update'>): StepFields {
  const hint = 'Text, null to clear the name, or a variable such as {"var": "event.name"}. Leave empty to keep it.'
  const { first_name, last_name, unsubscribed, properties } = config
  const state = unsubscribed === undefined ? '' : JSON.stringify(unsubscribed)
  const states: Options = [
    ['', 'no change'],
    ['true', 'unsubscribed'],
    ['false', 'subscribed'],
  ]
  return {
    fields: [
      { name: 'first_name', label: 'First name', value: formatName(first_name), hint },
      { name: 'last_name', label: 'Last name', value: formatName(last_name), hint },
      { name: 'unsubscribed', label: 'Status', type: 'select', value: state, options: withValue(states, state) },
      {
        ...{ name: 'properties', label: 'Properties', type: 'textarea', rows: 4 },
        value: properties ? JSON.stringify(properties, null, 2) : '',
        hint: 'JSON, for example: {"plan": "gold"}',
      },
    ],
  }
}

async function segmentFields(visit: Visit, { segment_id }: Config<'add_to_segment'>): Promise<StepFields> {
  const options = await choices(visit, 'listSegments', segment_id)
  return { fields: [{ name: 'segment_id', label: 'Segment', type: 'select', value: segment_id, options }] }
}

/** Returns the records that can be chosen, by name. */
async function choices(visit: Visit, operation: string, value: string | null | undefined): Promise<Options> {
  return withValue(await choicesOf(visit, operation), value)
}
