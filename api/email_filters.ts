import { z } from 'zod'
import { asciiDomain, parseAddress } from '#lib/mail/address.ts'
import { parseWideAddress } from '#lib/mail/wide_address.ts'
import { TemplateRef } from '#lib/templates/variables.ts'
import type { EmailFilters } from '#sql/sending/search/email_list.ts'
import type { Context } from './context.ts'
import { invalid, single } from './parse.ts'

const folders: Record<string, string[] | undefined> = {
  all: undefined,
  transactional: undefined,
  sent: ['sent', 'delivered', 'delivery_delayed', 'complained'],
  scheduled: ['scheduled'],
  outbox: ['queued'],
  failed: ['failed', 'bounced', 'suppressed'],
  canceled: ['canceled'],
  campaigns: [],
  automations: [],
}

const STATUSES = [
  ...['scheduled', 'queued', 'sent', 'delivered', 'delivery_delayed', 'bounced', 'complained', 'failed', 'canceled'],
  'suppressed',
]
const EVENTS = ['opened', 'clicked']

/** As long as a subject may be. */
const MAX_TEXT = 998

/** The filters of GET /emails (contract 3.3). A `q` that is empty asks for nothing, as an empty search box does. */
export function parseEmailFilters(ctx: Context): EmailFilters {
  const campaign_id = parseUuid(ctx, 'campaign_id') // there are none yet
  const folder = parseFolder(ctx)
  return {
    folder: campaign_id === undefined ? folder : [],
    status: parseStatus(ctx),
    q: parseText(ctx),
    domain: parseDomain(ctx),
    template: parseTemplate(ctx),
    tag: parseTag(ctx),
    from: parseMailbox(ctx, 'from'),
    to: parseMailbox(ctx, 'to'),
    created_after: parseTime(ctx, 'created_after'),
    created_before: parseTime(ctx, 'created_before'),
  }
}

function parseFolder(ctx: Context): string[] | undefined {
  const name = single(ctx, 'folder')
  if (name === undefined) return undefined
  if (!Object.hasOwn(folders, name)) throw invalid(`\`folder\` must be one of ${Object.keys(folders).join(', ')}.`)
  return folders[name]
}

function parseStatus(ctx: Context): EmailFilters['status'] {
  const names = single(ctx, 'status')?.split(',')
  if (!names) return undefined
  if (!names.every(name => STATUSES.includes(name) || EVENTS.includes(name))) {
    throw invalid(`\`status\` must be one or more of ${[...STATUSES, ...EVENTS].join(', ')}, separated by commas.`)
  }
  const has = (name: string) => names.includes(name)
  return { statuses: STATUSES.filter(has), events: EVENTS.filter(has) }
}

/** Of several names for the same the first that is given. */
export function parseText(ctx: Context, names = ['q', 'search', 'query']): string | undefined {
  const given = names.map(name => ({ name, text: single(ctx, name) }))
  const [first, second] = given.filter(({ text }) => text !== undefined)
  if (first && second) throw invalid(`\`${first.name}\` and \`${second.name}\` cannot be combined.`)
  if (!first?.text) return undefined
  const isLine = first.text.length <= MAX_TEXT && !/[\0\r\n]/.test(first.text)
  if (!isLine) throw invalid(`\`${first.name}\` must be one line of at most ${MAX_TEXT} characters.`)
  return first.text
}

export function parseDomain(ctx: Context): EmailFilters['domain'] {
  const text = single(ctx, 'domain')
  if (text === undefined) return undefined
  if (z.guid().safeParse(text).success) return { id: text.toLowerCase() }
  const name = asciiDomain(text)
  if (name === null) throw invalid('`domain` must be the name or the id of a domain.')
  return { name }
}

function parseTemplate(ctx: Context): EmailFilters['template'] {
  const ref = single(ctx, 'template_id')
  if (ref === undefined) return undefined
  if (z.guid().safeParse(ref).success) return { id: ref.toLowerCase() }
  if (!TemplateRef.safeParse(ref).success) throw invalid('`template_id` must be the id or the alias of a template.')
  return { alias: ref }
}

function parseTag(ctx: Context): string | undefined {
  const tag = single(ctx, 'tag')
  if (tag === undefined || /^[\w-]{1,256}(?::[\w-]{1,256})?$/.test(tag)) return tag
  throw invalid('`tag` must be the name of a tag, or `name:value`.')
}

export function parseMailbox(ctx: Context, name: string): string | undefined {
  const text = single(ctx, name)
  if (text === undefined) return undefined
  const address = parseAddress(text)?.address ?? wideAddress(text)
  if (!address) throw invalid(`\`${name}\` must be an email address.`)
  return address.toLowerCase()
}

/** Mail comes from and to addresses that none can be sent to yet. */
function wideAddress(text: string): string | null {
  const parsed = parseWideAddress(text)
  return parsed && `${parsed.local}@${parsed.domain}`
}

const Time = z.union([z.iso.datetime({ offset: true }), z.iso.date()])

function parseTime(ctx: Context, name: string): Date | undefined {
  const text = single(ctx, name)
  if (text === undefined) return undefined
  if (!Time.safeParse(text).success) throw invalid(`\`${name}\` must be an ISO 8601 date or timestamp with an offset.`)
  return new Date(text)
}

export function parseUuid(ctx: Context, name: string): string | undefined {
  const text = single(ctx, name)
  if (text !== undefined && !z.guid().safeParse(text).success) throw invalid(`\`${name}\` is not a valid id.`)
  return text
}
