import type { StepType } from '#lib/automations/steps.ts'
import { readText } from '#web/pages/mail/content_fields.ts'
import type { Form } from '#web/request/form.ts'
import { readRule } from './rule_fields.ts'

/** Reads the configuration from a form with `stepFields`. The operation validates it. @throws {ApiError} */
export function readConfig(type: StepType, form: Form): unknown {
  return READERS[type](form)
}

const READERS: Record<StepType, (form: Form) => unknown> = {
  trigger: form => ({ event_name: form.text('event_name') }),
  send_email: form => ({
    template: form.text('template') ? { id: form.text('template'), variables: form.json('variables') } : null,
    from: form.textOrNull('from'),
    subject: form.textOrNull('subject'),
    reply_to: form.addresses('reply_to'),
    topic_id: form.textOrNull('topic_id'),
    html: form.raw('html') || null,
    text: readText(form),
    poll: form.json('poll') ?? null,
  }),
  delay: form => ({ duration: form.optional('duration'), until: readUntil(form) }),
  wait_for_event: form => ({
    event_name: form.text('event_name'),
    timeout: form.textOrNull('timeout'),
    filter_rule: readRule(form),
  }),
  condition: form => readRule(form) ?? { type: 'rule', field: '' },
  contact_update: form => ({
    first_name: readName(form, 'first_name'),
    last_name: readName(form, 'last_name'),
    unsubscribed: form.json('unsubscribed'),
    properties: form.json('properties'),
  }),
  contact_delete: () => ({}),
  add_to_segment: form => ({ segment_id: form.text('segment_id') }),
  remove_from_segment: form => ({ segment_id: form.text('segment_id') }),
}

function readUntil(form: Form) {
  const [time, days] = [form.text('time'), form.list('days')]
  if (time === '' && days.length === 0) return undefined
  return { time, days: days.length > 0 ? days : undefined, timezone: form.optional('timezone') }
}

/** Returns the text that `readName` reads as this value: in quotes only if needed. */
export function formatName(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' && !/^(?:null)?$|^[\s{"]|\s$/.test(value) ? value : JSON.stringify(value)
}

/** Reads text, or as JSON the word `null`, a variable, or text in double quotes. */
function readName(form: Form, name: string): unknown {
  const text = form.text(name)
  return text === 'null' || /^\{|^".*"$/.test(text) ? form.json(name) : text || undefined
}
