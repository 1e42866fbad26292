import { SENDABLE } from '#lib/domains/domain_status.ts'
import type { ListedEmail } from '#sql/sending/email_records.ts'
import { listDoubtedEmails } from '#sql/sending/search/doubted_emails.ts'
import type { Webhook } from '#sql/webhooks/webhooks.ts'
import { type Html, html } from '#web/html.ts'
import { curl, empty, type List, table } from '#web/layout/list.ts'
import { badge, count, section, time } from '#web/layout/parts.ts'
import { page, type Room, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { newestCaptured } from './captured/captured.ts'
import { findDomains, type OwnDomain } from './domains/own_domains.ts'

type Use = { used: number; limit: number | null }
type Mail = Wire<ListedEmail>

const overview = page('/', async visit => {
  const { emails } = await visit.ask<{ emails: { daily: Use; monthly: Use } }>('getUsage')
  const list = async <Row>(operation: string, limit: number) =>
    (await visit.ask<List<Row>>(operation, { query: { limit: String(limit) } })).data
  const mail = await list<Mail>('listEmails', 10)
  const needs = [
    ...(await needsOfDoubts(visit)),
    ...needsOfDomains(await findDomains(visit)),
    ...needsOfWebhooks(await list('listWebhooks', 100)),
  ]
  return {
    title: 'Overview',
    body: html`<ul class="tiles">
<li>Emails in 24 hours <strong>${shown(emails.daily)}</strong></li>
<li>Emails in 30 days <strong>${shown(emails.monthly)}</strong></li>
</ul>
${needs.length > 0 ? section('Needs you', html`<ul>${needs.map(need => html`<li>${need}</li>`)}</ul>`) : ''}
${await newestCaptured(visit)}
${section('Newest emails', newest(mail, visit))}`,
  }
})

function shown({ used, limit }: Use): string {
  return limit === null ? count(used) : `${count(used)} of ${count(limit)}`
}

async function needsOfDoubts({ ctx, session }: Visit): Promise<Html[]> {
  const { data } = await listDoubtedEmails(ctx.pool, session.account_id, { limit: 1 })
  if (data.length === 0) return []
  return [html`<a href="/emails?folder=in+doubt">Emails are in doubt</a>: they may have arrived, and somebody decides.`]
}

function needsOfDomains(domains: OwnDomain[]): Html[] {
  return domains
    .filter(({ status }) => status !== 'verified')
    .map(({ id, name, status }) => {
      const what = SENDABLE.includes(status) ? 'misses some of its DNS records' : 'cannot send yet'
      return html`<a href="/domains/${id}">${name}</a> ${what} ${badge(status)}`
    })
}

function needsOfWebhooks(webhooks: Wire<Webhook>[]): Html[] {
  return webhooks
    .filter(({ status }) => status === 'disabled')
    .map(({ id, endpoint }) => html`The webhook <a href="/webhooks/${id}">${endpoint}</a> is disabled.`)
}

function newest(rows: Mail[], visit: Visit): Html {
  const from = 'Mailbrook <hello@sandbox.internal>'
  const body = { from, to: ['anna@sandbox.internal'], subject: 'Hello', html: '<p>It works.</p>' }
  return table({
    ...{ caption: 'Newest first', rows, link: ({ id }: Mail) => `/emails/${id}` },
    columns: [
      { title: 'To', cell: ({ to }: Mail) => to[0] ?? '' },
      { title: 'Subject', cell: ({ subject }: Mail) => subject },
      { title: 'Status', cell: ({ status }: Mail) => badge(status) },
      { title: 'Created', cell: ({ created_at }: Mail) => time(created_at) },
    ],
    empty: empty(
      'Nothing was sent yet. Create an API key, then send your first email:',
      curl(visit, 'POST', '/emails', body),
    ),
  })
}

export const overviewRoom: Room = { pages: [overview], actions: [] }
