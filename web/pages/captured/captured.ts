import { uuid } from '#api/operations/ids.ts'
import { orNotFound } from '#lib/errors.ts'
import { listOwnCapturedMessages, type OwnListedMessage } from '#sql/delivery/captured_messages.ts'
import { type Html, html } from '#web/html.ts'
import { type Column, empty, listQuery, pager, table } from '#web/layout/list.ts'
import { section, time, unicodeDomain } from '#web/layout/parts.ts'
import { exampleEmail } from '#web/pages/domains/own_domains.ts'
import { sizeOf } from '#web/pages/mail/content.ts'
import { page, type Visit } from '#web/request/visit.ts'
import { type Wire, wire } from '#web/request/wire.ts'

type Row = Wire<OwnListedMessage>

const NEWEST = 5

const columns: Column<Row>[] = [
  { title: 'To', cell: ({ recipient }) => unicodeDomain(recipient) },
  { title: 'Subject', cell: ({ subject }) => subject || '(no subject)' },
  { title: 'From', cell: ({ from }) => unicodeDomain(from) },
  { title: 'Size', cell: ({ size }) => sizeOf(size) },
  { title: 'Captured', cell: ({ created_at }) => time(created_at) },
]

/** Lists messages that were stored instead of sent, one per recipient. */
export const captured = page('/captured', async visit => {
  const { after, before } = listQuery(visit)
  for (const cursor of [after, before]) if (cursor !== undefined) orNotFound('Message', uuid(cursor))
  const list = await find(visit, { limit: 50, after, before })
  if (list.data.length > 0) return { title: 'Captured', body: html`${tableOf(list.data)}${pager(visit, list)}` }
  return { title: 'Captured', body: empty('No captured messages yet. Send one:', await exampleEmail(visit)) }
})

/** The newest captured messages, for the overview. Empty if there are none, or if emails are really sent. */
export async function newestCaptured(visit: Visit): Promise<Html> {
  if (visit.ctx.config.MAIL_TRANSPORT !== 'capture') return html``
  const { data } = await find(visit, { limit: NEWEST })
  return data.length > 0 ? section('Captured', tableOf(data)) : html``
}

async function find(visit: Visit, position: Parameters<typeof listOwnCapturedMessages>[2]) {
  return wire(await listOwnCapturedMessages(visit.ctx.pool, visit.session.account_id, position))
}

function tableOf(rows: Row[]): Html {
  const link = ({ id }: Row) => `/captured/${id}`
  return table({ caption: 'Captured messages, newest first', columns, rows, link, empty: html`` })
}
