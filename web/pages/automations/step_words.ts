import type { Step } from '#lib/automations/new_step.ts'
import type { VarRef } from '#lib/automations/rules.ts'
import type { ConfigOf, StepType } from '#lib/automations/steps.ts'
import { isObject } from '#lib/json/is_object.ts'
import { type Html, html } from '#web/html.ts'
import { unicodeDomain } from '#web/layout/parts.ts'
import { recordLink } from '#web/layout/record_page.ts'
import type { Visit } from '#web/request/visit.ts'
import { ruleWords } from './rule_fields.ts'

/** Says in words what a step does. */
export function stepWords(visit: Visit, { type, config }: Pick<Step, 'type' | 'config'>): Html {
  return html`<div>${WORDS[type](visit, config as never)}</div>`
}

const WORDS: { [Type in StepType]: (visit: Visit, config: ConfigOf<Type>) => Html | string } = {
  trigger: (_, { event_name }) => `Contacts enter when the event ${event_name} occurs.`,
  send_email: sendWords,
  delay: (_, { duration, until }) => (until ? untilWords(until) : `Wait ${duration}.`),
  wait_for_event: (_, { event_name, timeout, filter_rule }) =>
    html`Wait ${timeout ? `up to ${timeout} ` : ''}for the event ${event_name}${filter_rule ? html`, if ${ruleWords(filter_rule)}` : '.'}`,
  condition: (_, rule) => html`If ${ruleWords(rule)}`,
  contact_update: updateWords,
  contact_delete: () => 'Delete the contact. The run ends.',
  add_to_segment: (visit, { segment_id }) => html`Add the contact to the segment ${segmentLink(visit, segment_id)}.`,
  remove_from_segment: (visit, { segment_id }) =>
    html`Remove the contact from the segment ${segmentLink(visit, segment_id)}.`,
}

function sendWords(visit: Visit, { template, subject, from, topic_id, poll }: ConfigOf<'send_email'>): Html {
  const named = template
    ? html`the template ${recordLink(visit, 'getTemplate', '/templates', template.id)}${subject ? ` with the subject “${subject}”` : ''}`
    : html`the email “${subject ?? ''}”`
  return html`Send ${named}${from ? ` from ${unicodeDomain(from)}` : ''}${topic_id ? html`, only to subscribers of the topic ${recordLink(visit, 'getTopic', '/topics', topic_id)}` : ''}${poll ? `, with the poll “${poll.question}”` : ''}.`
}

function untilWords({ time, days, timezone }: NonNullable<ConfigOf<'delay'>['until']>): string {
  const names = days?.map(day => day[0]?.toUpperCase() + day.slice(1)).join(' or ')
  const zone = timezone === 'contact' ? 'in the time zone of the contact' : `(${timezone})`
  return `Wait until ${time} ${zone}${names ? ` on ${names}` : ''}.`
}

function updateWords(_: Visit, { properties = {}, ...fields }: ConfigOf<'contact_update'>): Html {
  const own = Object.entries(fields).map(([name, value]) => [name.replaceAll('_', ' '), value] as const)
  const changes = [...own, ...Object.entries(properties).map(([key, value]) => [`property ${key}`, value] as const)]
  return html`Change the contact:<ul>${changes.map(([name, value]) => html`<li>${name}: ${valueWords(value)}</li>`)}</ul>`
}

function valueWords(value: unknown): string {
  return isObject(value) ? `the value of ${(value as VarRef).var}` : value === null ? 'none' : JSON.stringify(value)
}

function segmentLink(visit: Visit, id: string): Promise<Html> {
  return recordLink(visit, 'getSegment', '/segments', id)
}
