import type { ConfigOf, StepType } from '#lib/automations/steps.ts'
import { type Html, html } from '#web/html.ts'
import type { Field } from '#web/layout/field.ts'
import type { List } from '#web/layout/list.ts'
import type { Visit } from '#web/request/visit.ts'
import { ruleHtml } from './rule_fields.ts'

/** The fields of the form of a step. `extra` is shown below them. */
export type Asked = { fields: readonly Field[]; extra?: Html }

type Options = [value: string, name: string][]

/** Fields of a step by its type, with what its configuration has; with defaults for a new step. */
export async function stepFields(visit: Visit, type: StepType, config: unknown): Promise<Asked> {
  return FIELDS[type](visit, config ?? {})
}

type Ask<Type extends StepType> = (visit: Visit, config: Partial<ConfigOf<Type>>) => Asked | Promise<Asked>

const FIELDS: Record<StepType, (visit: Visit, config: object) => Asked | Promise<Asked>> = {
  trigger: (_, { event_name }: Partial<ConfigOf<'trigger'>>) => ({
    fields: [{ name: 'event_name', label: 'Event', value: event_name, hint: 'Contacts enter by it.', required: true }],
  }),
  send_email: sendFields,
  delay: (_, { duration, until }: Partial<ConfigOf<'delay'>>) => ({
    fields: [
      { name: 'duration', label: 'Length', value: duration, hint: 'Such as 3 days. Or a time of day instead:' },
      { name: 'time', label: 'Time of day', value: until?.time, hint: 'Such as 09:00.' },
      { name: 'days', label: 'Days', value: until?.days?.join(', '), hint: 'Such as monday, tuesday. Empty: all.' },
      { name: 'timezone', label: 'Time zone', value: until?.timezone, hint: 'Such as Europe/Berlin, or contact.' },
    ],
  }),
  wait_for_event: ({ problem }, { event_name, timeout, filter_rule }: Partial<ConfigOf<'wait_for_event'>>) => ({
    fields: [
      { name: 'event_name', label: 'Event', value: event_name, required: true },
      { name: 'timeout', label: 'Wait at most', value: timeout, hint: 'Such as 1 day. Empty: without end.' },
    ],
    extra: ruleHtml(filter_rule ?? null, true, problem),
  }),
  condition: ({ problem }, rule: Partial<ConfigOf<'condition'>>) => ({
    fields: [],
    extra: ruleHtml('type' in rule ? (rule as ConfigOf<'condition'>) : null, false, problem),
  }),
  contact_update: updateFields,
  contact_delete: () => ({ fields: [], extra: html`<p>The contact is deleted, and the run ends.</p>` }),
  add_to_segment: segmentFields,
  remove_from_segment: segmentFields,
}

async function sendFields(visit: Visit, config: Parameters<Ask<'send_email'>>[1]): Promise<Asked> {
  const { template, from, subject, reply_to = [], topic_id, html, text, poll } = config
  const none: Options = [['', 'None']]
  const templates = await choices(visit, 'listTemplates', template?.id)
  const topics = await choices(visit, 'listTopics', topic_id)
  const json = (value: unknown) => (value ? JSON.stringify(value, null, 2) : '')
  return {
    fields: [
      { name: 'template', label: 'Template', type: 'select', value: template?.id, options: [...none, ...templates] },
      {
        ...{ name: 'variables', label: 'Variables of the template', type: 'textarea', rows: 4 },
        value: json(template?.variables),
        hint: 'As JSON: {"plan": {"var": "event.plan"}}.',
      },
      { name: 'from', label: 'From', value: from, hint: 'Empty: that of the template.' },
      { name: 'subject', label: 'Subject', value: subject, hint: 'Empty: that of the template.' },
      { name: 'reply_to', label: 'Reply-To', value: reply_to.join(', ') },
      { name: 'topic_id', label: 'Topic', type: 'select', value: topic_id, options: [...none, ...topics] },
      { name: 'html', label: 'HTML', type: 'textarea', value: html, hint: 'Unless a template is chosen.' },
      { name: 'text', label: 'Text', type: 'textarea', value: text, hint: 'Empty: made of the HTML.' },
      { name: 'no_text', label: 'Send no plain-text part', type: 'checkbox', value: text === '' },
      { name: 'poll', label: 'Poll', type: 'textarea', rows: 4, value: json(poll), hint: 'As JSON. Empty: none.' },
    ],
  }
}

function updateFields(_: Visit, config: Parameters<Ask<'contact_update'>>[1]): Asked {
  const hint = 'A text, null to clear it, or a variable: {"var": "event.name"}. Empty: as it is.'
  const name = (value: unknown) =>
    typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
  const { first_name, last_name, unsubscribed, properties } = config
  const state = unsubscribed === undefined ? '' : JSON.stringify(unsubscribed)
  const states: Options = [
    ['', 'as it is'],
    ['true', 'unsubscribed'],
    ['false', 'subscribed'],
  ]
  return {
    fields: [
      { name: 'first_name', label: 'First name', value: name(first_name), hint },
      { name: 'last_name', label: 'Last name', value: name(last_name), hint },
      { name: 'unsubscribed', label: 'State', type: 'select', value: state, options: withValue(states, state) },
      {
        ...{ name: 'properties', label: 'Properties', type: 'textarea', rows: 4 },
        value: properties ? JSON.stringify(properties, null, 2) : '',
        hint: 'As JSON: {"plan": "gold"}.',
      },
    ],
  }
}

async function segmentFields(visit: Visit, { segment_id }: Parameters<Ask<'add_to_segment'>>[1]): Promise<Asked> {
  const options = await choices(visit, 'listSegments', segment_id)
  return { fields: [{ name: 'segment_id', label: 'Segment', type: 'select', value: segment_id, options }] }
}

/** Names of records that can be chosen. */
async function choices(visit: Visit, operation: string, value: string | null | undefined): Promise<Options> {
  const { data } = await visit.ask<List<{ id: string; name: string }>>(operation)
  return withValue(
    data.map(({ id, name }) => [id, name]),
    value,
  )
}

/** With the value that a field has, so that saving a form does not change it. */
function withValue(options: Options, value: string | null | undefined): Options {
  return !value || options.some(([option]) => option === value) ? options : [...options, [value, value]]
}
