import type { Test } from 'tap'
import { v7 as uuid } from 'uuid'
import { indexEmails } from '#flows/sending/index_emails.ts'
import { prepareTemplate } from '#flows/templates/change_template.ts'
import type { ListedEmail } from '#sql/sending/email_records.ts'
import { publishNewest } from '#sql/templates/templates.ts'
import { type Api, startApi } from './api.ts'
import { acceptEmail } from './sending.ts'
import { addDomain, newAccount, openWorld, type TestAccount } from './world.ts'

const subjects = [
  ...['Invoice 100% paid', 'Invoice 1000 paid', 'snake_case', 'snakeXcase', 'back\\slash', 'back/slash', "It's", ''],
  ...[
    'ÄPFEL und Öl',
    'äpfel UND öl',
    '李明你好',
    '好',
    'C++ \\303\\204',
    'ПРИВЕТ, мир',
    '😀 smile',
    'ABC\tdef',
    '<b>%_\\',
  ],
]
const recipients = ['x@y.com', 'Al <Al.Most_X@Y.com>', 'ax@y.com', 'x@y.com.au', '"Ünï %" <u%n@y.com>']
const tags = [[], [{ name: 'kind', value: 'a' }], [{ name: 'kind', value: 'b' }], [{ name: 'a', value: 'kind' }]]
export const statuses = [
  ...['scheduled', 'queued', 'sent', 'delivered', 'delivery_delayed', 'bounced', 'complained', 'failed', 'canceled'],
  'suppressed',
]

/**
 * `everything` is the list without a filter; `second` the id and name of the other domain of the account, `templates` the ids
 * of those with the aliases `one` and `two`.
 */
export type VariedEmails = {
  api: Api
  account: TestAccount
  second: { id: string; name: string }
  templates: string[]
  stranger: TestAccount
  everything: ListedEmail[]
  list(filter: Record<string, string>): Promise<List>
  shows: Shows
}

type List = { data: ListedEmail[]; has_more: boolean }

/** Checks that the list contains the emails for which `is` is true, at once and by page; there must be some unless `none`. */
type Shows = (
  t: Test,
  filter: Record<string, string>,
  is: (email: ListedEmail) => boolean,
  none?: boolean,
) => Promise<void>

/** Emails in blocks of two, the newest in none: more blocks than a search reads without their index. */
const INDEXED = 44

/** 60 emails of an account that differ in nearly everything, and one of another account. */
export async function openVariedEmails(t: Test): Promise<VariedEmails> {
  const world = await openWorld(t)
  const [account, stranger] = [await newAccount(world), await newAccount(world)]
  const second = { account_id: account.id, id: uuid(), name: `second.${account.domain}`, status: 'verified' as const }
  await addDomain(world.pool, world.secrets, second)
  const senders = [`hello@${account.domain}`, `"Ann, B." <Billing@${account.domain}>`, `Örjan <hello@${second.name}>`]
  const templates: string[] = []
  for (const alias of ['one', 'two']) {
    templates.push(await world.pool.transaction(await prepareTemplate(account.id, { name: alias, alias, html: 'Hi' })))
    await world.pool.transaction(tx => publishNewest(tx, account.id, alias))
  }

  for (let i = 0; i < 60; i++) {
    if (i === INDEXED) await indexEmails(world.pool, { size: 2, lag_seconds: -60 })
    const fields = { to: [at(recipients, i)], cc: [at(recipients, i * 3 + 1)], bcc: i % 4 ? [] : ['Hidden@Copy.org'] }
    const content = { subject: at(subjects, i), ...(i % 3 ? {} : { template_id: at(templates, i / 3) }) }
    const email = { ...fields, ...content, from: at(senders, i), tags: at(tags, i) }
    const id = await acceptEmail(world, account, email)
    const status = at(statuses, i * 7)
    const last_event = status === 'delivered' ? at(['opened', 'clicked', 'delivered'], i) : status
    await world.pool.pg.query('UPDATE emails SET status = $2, last_event = $3 WHERE id = $1', [id, status, last_event])
  }
  await acceptEmail(world, stranger, { subject: 'Invoice 100% paid', tags: [{ name: 'kind', value: 'a' }] })

  const api = await startApi(t, world, account.key)
  const list = async (filter: Record<string, string>) => {
    const { status, body, text } = await api.request('GET', `/api/emails?${query({ limit: '100', ...filter })}`)
    if (status !== 200) throw new Error(text)
    return body as unknown as List
  }
  const { data: everything } = await list({})
  return { api, account, second, templates, stranger, everything, list, shows: comparer(everything, list) }
}

function at<Item>(items: Item[], i: number): Item {
  return items[i % items.length] as Item
}

export function query(filter: Record<string, string>): string {
  return new URLSearchParams(filter).toString()
}

function comparer(everything: ListedEmail[], list: VariedEmails['list']): Shows {
  return async (t, filter, is, none = false) => {
    const expected = idsOf(everything.filter(is))
    t.equal(expected.length === 0, none, `${query(filter)} is to show ${expected.length}`)
    t.strictSame(idsOf((await list(filter)).data), expected, query(filter))
    const walked: string[] = []
    for (let next: List = { data: [], has_more: true }; next.has_more; ) {
      const after = walked.at(-1)
      next = await list({ ...filter, limit: '25', ...(after ? { after } : {}) })
      walked.push(...idsOf(next.data))
    }
    t.strictSame(walked, expected, `${query(filter)}, page by page`)
  }
}

export function idsOf(emails: ListedEmail[]): string[] {
  return emails.map(email => email.id)
}
