import { toDraft } from '#flows/sending/draft_emails.ts'
import { atOnce } from '#lib/async/time_slice.ts'
import { type Facts, readValue, resolve } from '#lib/automations/evaluate/facts.ts'
import { StepError } from '#lib/automations/evaluate/step_error.ts'
import { type Field, readField } from '#lib/automations/rules.ts'
import type { ConfigOf } from '#lib/automations/steps.ts'
import { sizesWith } from '#lib/contents/campaign/content_size.ts'
import { recipientLookup, recipientValues } from '#lib/contents/campaign/recipient_values.ts'
import { POLL_RENDERER } from '#lib/contents/compile_content.ts'
import { storedAddress } from '#lib/mail/address.ts'
import { clipSubject } from '#lib/mail/mail_fields.ts'
import { placeholders } from '#lib/templates/placeholders.ts'
import { render, type Value } from '#lib/templates/render.ts'
import type { AccountProperty } from '#sql/automations/engine/contacts.ts'
import type { StepPoll } from '#sql/polls/asked_polls.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import type { SentTemplate } from '#sql/templates/template_versions.ts'
import type { RequestingRun, SharedState } from './active_run.ts'
import { type Author, freezeStepContent, idFrom, type StepContent } from './step_content.ts'

/**
 * The parts of an email that all recipients of a step share. `template`: its published version. `event_fields`: fields
 * of the event that placeholders name directly, as in `{{event.plan}}`. The fallbacks are by key.
 */
export type StepMail = {
  template: SentTemplate | null
  content: StepContent
  sender: string
  subject: string
  poll: StepPoll | null
  event_fields: Field[]
  property_fallbacks: Fallbacks
  template_fallbacks: Fallbacks
}
type Fallbacks = Record<string, Value | null>

type MailSource = {
  template: SentTemplate | null
  properties: AccountProperty[]
  author: Author
}

/**
 * Returns the parts of the mail of a step, before the values of each recipient are inserted.
 *
 * @throws {StepError} if it cannot be sent
 */
export function mailOf(
  { run: { automation_id, domain_id }, request: { step, config } }: RequestingRun<'email'>,
  { template, properties, author }: MailSource,
): StepMail {
  if (config.template && !template) throw new StepError('not_found', 'The template was deleted.')
  if (template && template.version_id === null) {
    throw new StepError('validation_error', 'The template is not published.')
  }
  const { html, text } = template ?? config
  if (!html && !text) throw new StepError('validation_error', 'The email has no content.')
  const sender = config.from ?? template?.sender ?? missing('from')
  const subject = config.subject ?? template?.subject ?? missing('subject')
  const content = freezeStepContent({ html, text, poll: config.poll, subject }, author)
  const asked = content.poll && { automation_id, step, ...content.poll }
  const keys = [...content.keys.map(({ key }) => key), ...keysOf(subject)]
  return {
    ...{ template, content, sender, subject },
    poll: asked && { ...asked, fingerprint: idFrom(asked), domain_id, subject },
    event_fields: [...new Set(keys)].flatMap(key => (key.startsWith('event.') ? (readField(key) ?? []) : [])),
    property_fallbacks: fallbacksOf(properties),
    template_fallbacks: fallbacksOf(template?.variables ?? []),
  }
}

function fallbacksOf(named: { key: string; fallback_value: Value | null }[]): Fallbacks {
  return Object.fromEntries(named.map(({ key, fallback_value }) => [key, fallback_value]))
}

function missing(field: string): never {
  throw new StepError('missing_required_field', `The email has no \`${field}\`, and its template has none either.`)
}

/** Marketing mail is sent after all other mail, as mail of campaigns is. */
const PRIORITY = { marketing: 10, transactional: 0 } as const

/** Returns the email of one run. @throws {ApiError} if its values do not fit */
export function draftOf(
  { simulator_domain }: SharedState,
  { run, automation, request: { config, facts } }: RequestingRun<'email'>,
  { template, content, sender, subject, poll, event_fields, property_fallbacks, template_fallbacks }: StepMail,
): Draft {
  const { account_id, domain_id, automation_id } = run
  const lookup = recipientLookup({
    ...facts.contact,
    properties: facts.contact.own,
    property_fallbacks,
    template_fallbacks,
    variables: { ...eventValues(event_fields, facts), ...givenValues(config, facts) },
  })
  const variables = recipientValues(content.keys, lookup)
  const reply_to = config.reply_to.length > 0 ? config.reply_to : (template?.reply_to ?? [])
  const email = {
    from: storedAddress(sender),
    to: [storedAddress(facts.contact.email)],
    reply_to: reply_to.map(storedAddress),
    subject: clipSubject(atOnce(render(subject, 'subject', lookup))),
    topic_id: config.topic_id,
    template_id: template?.id,
    content_id: content.id,
    variables,
    sizes: sizesWith(content, variables),
    has_links: content.has_links,
  }
  return {
    ...toDraft({ account_id, domain_id }, email, null, simulator_domain),
    priority: PRIORITY[automation.purpose],
    automation_id,
    automation_version: run.version,
    contact_id: run.contact_id,
    ...(poll && { renderer: POLL_RENDERER }),
  }
}

function keysOf(subject: string): string[] {
  return [...placeholders(subject)].flatMap(slot => slot?.key ?? [])
}

function eventValues(fields: Field[], facts: Facts): Record<string, Value> {
  const values: Record<string, Value> = {}
  for (const field of fields) put(values, field, readValue(field, facts))
  return values
}

function givenValues({ template }: ConfigOf<'send_email'>, facts: Facts): Record<string, Value> {
  const values: Record<string, Value> = {}
  for (const [key, value] of Object.entries(template?.variables ?? {})) put(values, key, resolve(value, facts))
  return values
}

function put(values: Record<string, Value>, key: string, value: unknown): void {
  if (typeof value === 'string' || typeof value === 'number') values[key] = value
  else if (typeof value === 'boolean') values[key] = String(value)
}
