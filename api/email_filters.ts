import { z } from 'zod'
import { ApiError } from '#lib/errors.ts'
import { orList } from '#lib/json/requirements.ts'
import { asciiDomain, parseAddress, searchedAddress } from '#lib/mail/address.ts'
import { parseWideAddress } from '#lib/mail/wide_address.ts'
import { TemplateRef } from '#lib/templates/variables.ts'
import { CREATED_AFTER, CREATED_BEFORE, moment, refuse } from '#lib/zod_fields.ts'
import type { Contact } from '#sql/contacts/contacts.ts'
import type { EmailFilters } from '#sql/sending/search/email_list.ts'

const folders: Record<string, string[] | undefined> = {
  all: undefined,
  transactional: undefined,
  sent: ['sent', 'delivered', 'delivery_delayed', 'complained'],
  scheduled: ['scheduled'],
  outbox: ['queued'],
  failed: ['failed', 'bounced', 'suppressed'],
  canceled: ['canceled'],
  campaigns: undefined,
  automations: undefined,
}

const STATUSES = [
  ...['scheduled', 'queued', 'sent', 'delivered', 'delivery_delayed', 'bounced', 'complained', 'failed', 'canceled'],
  'suppressed',
]
const EVENTS = ['opened', 'clicked']

/** The limit of a subject. */
const MAX_TEXT = 998

const FOLDERS =
  '`sent`, `failed` and so on are groups of statuses. `transactional`: email that no campaign or automation sent.'

const isUuid = (text: string) => z.guid().safeParse(text).success

/** A parameter of a query string. `read` returns null for invalid text; `requirement` follows the name in the error. */
export function parameter<Value>(requirement: string, read: (text: string) => Value | null) {
  return z
    .string()
    .transform((text, context) => read(text) ?? refuse(context, 'validation_error', requirement))
    .optional()
}

export const idParameter = parameter('must be an id: a UUID', text => (isUuid(text) ? text.toLowerCase() : null))

export const domainParameter = parameter('must be the name or the id of a domain', readDomain)

export const mailboxParameter = parameter('must be an email address', readMailbox)

/** Text to search for. Empty text filters nothing, like an empty search box. */
export const textParameter = parameter(`must be one line of at most ${MAX_TEXT} characters`, text =>
  text.length <= MAX_TEXT && !/[\0\r\n]/.test(text) ? searchedAddress(text) : null,
)

const timeParameter = parameter(
  'must be an ISO 8601 date or a timestamp with an offset',
  text => moment.safeParse(text).data ?? null,
)

/** The filters of GET /emails. `emailFilters` turns them into conditions. */
export const EmailQuery = {
  campaign_id: idParameter.describe('Only emails of this campaign.'),
  folder: parameter(`must be ${orList(Object.keys(folders))}`, text =>
    Object.hasOwn(folders, text) ? text : null,
  ).meta({ enum: Object.keys(folders), description: FOLDERS }),
  status: parameter(
    `must be one or several of ${[...STATUSES, ...EVENTS].join(', ')}, separated by commas`,
    readStatus,
  ).describe(
    `One or several of ${[...STATUSES, ...EVENTS].map(name => `\`${name}\``).join(', ')}, separated by commas.`,
  ),
  q: textParameter.describe('Text in the subject or an address, ignoring case, or the beginning of an id.'),
  search: textParameter.describe('The same as `q`.'),
  query: textParameter.describe('The same as `q`.'),
  domain: domainParameter.describe('Only emails from this domain, by its name or id.'),
  template_id: parameter('must be the id or the alias of a template', readTemplate).describe(
    'Only emails from this template, by its id or alias.',
  ),
  tag: parameter('must be the name of a tag, or `name:value`', text =>
    /^[\w-]{1,256}(?::[\w-]{1,256})?$/.test(text) ? text : null,
  ).describe('Only emails with this tag: `name` or `name:value`.'),
  contact_id: idParameter.describe('Only emails to this contact from its domain. Excludes `to` and `domain`.'),
  from: mailboxParameter.describe('Only emails from this address.'),
  to: mailboxParameter.describe('Only emails to this address.'),
  created_after: timeParameter.describe(CREATED_AFTER),
  created_before: timeParameter.describe(CREATED_BEFORE),
}
type Given = z.output<z.ZodObject<typeof EmailQuery>>

/** @param contact the contact of `contact_id` @throws {ApiError} if several of `q`, `search` and `query` are given */
export function emailFilters(
  { campaign_id, contact_id: _, folder, search, query, template_id, q, ...filters }: Given,
  contact: Contact | null,
): EmailFilters {
  return {
    ...filters,
    ...(contact ? { to: contact.email, domain: { id: contact.domain_id } } : {}),
    campaign: campaignOf(folder, campaign_id),
    folder: folder === undefined ? undefined : folders[folder],
    q: searchedText({ q, search, query }),
    template: template_id,
  }
}

function campaignOf(folder: string | undefined, campaign_id: string | undefined): EmailFilters['campaign'] {
  if (folder === 'transactional') return campaign_id === undefined ? 'none' : 'impossible'
  if (folder === 'automations') return campaign_id === undefined ? 'automations' : 'impossible'
  if (campaign_id !== undefined) return { id: campaign_id }
  return folder === 'campaigns' ? 'any' : undefined
}

/** Returns the text of the one parameter that is given. */
function searchedText(names: Record<string, string | undefined>): string | undefined {
  const [first, second] = Object.entries(names).filter(([, text]) => text !== undefined)
  if (first && second)
    throw new ApiError('validation_error', `\`${first[0]}\` and \`${second[0]}\` cannot be combined.`)
  return first?.[1] || undefined
}

function readStatus(text: string): EmailFilters['status'] | null {
  const names = text.split(',')
  if (!names.every(name => STATUSES.includes(name) || EVENTS.includes(name))) return null
  const has = (name: string) => names.includes(name)
  return { statuses: STATUSES.filter(has), events: EVENTS.filter(has) }
}

function readDomain(text: string): NonNullable<EmailFilters['domain']> | null {
  if (isUuid(text)) return { id: text.toLowerCase() }
  const name = asciiDomain(text)
  return name === null ? null : { name }
}

function readTemplate(ref: string): NonNullable<EmailFilters['template']> | null {
  if (isUuid(ref)) return { id: ref.toLowerCase() }
  return TemplateRef.safeParse(ref).success ? { alias: ref } : null
}

function readMailbox(text: string): string | null {
  return (parseAddress(text)?.address ?? wideAddress(text))?.toLowerCase() ?? null
}

/** Accepts addresses that receive mail although the API cannot send to them yet, such as those with non-ASCII characters. */
function wideAddress(text: string): string | null {
  const parsed = parseWideAddress(text)
  return parsed && `${parsed.local}@${parsed.domain}`
}
