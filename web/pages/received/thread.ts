import { ApiError } from '#lib/errors.ts'
import type { ListedReceivedEmail, ReceivedEmail } from '#sql/receiving/received_email_list.ts'
import type { ListedEmail } from '#sql/sending/email_records.ts'
import { type Html, html } from '#web/html.ts'
import { type List, table } from '#web/layout/list.ts'
import { section, time } from '#web/layout/parts.ts'
import { orNull } from '#web/request/ask.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Found = Wire<ReceivedEmail>
type Mail = { path: string; direction: string; subject: string; created_at: string }

const NEWEST = '20'

/** The email that was replied to, and the newest emails from and to the sender. */
export async function thread(visit: Visit, found: Found): Promise<Html> {
  const original = found.reply_to_email_id
    ? await orNull(visit.ask<Wire<ListedEmail>>('getEmail', { params: { id: found.reply_to_email_id } }))
    : null
  const others = found.from ? await exchanged(visit, found) : []
  if (!original && others.length === 0) return html``
  return section(
    'Thread',
    html`${original ? html`<p>It replies to <a href="/emails/${original.id}">${original.subject || '(no subject)'}</a>, sent ${time(original.created_at)}.</p>` : ''}
<div data-turbo-prefetch="false">${table({
      caption: `Other emails from and to ${found.from}, newest first`,
      rows: others,
      link: ({ path }: Mail) => path,
      columns: [
        { title: 'Subject', cell: ({ subject }: Mail) => subject || '(no subject)' },
        { title: 'Direction', cell: ({ direction }: Mail) => direction },
        { title: 'When', cell: ({ created_at }: Mail) => time(created_at) },
      ],
      empty: html``,
    })}</div>`,
  )
}

async function exchanged(visit: Visit, { id, from }: Found): Promise<Mail[]> {
  const list = async <Row>(operation: string, query: Record<string, string>) =>
    (await visit.ask<List<Row>>(operation, { query: { ...query, limit: NEWEST } })).data
  try {
    const came = await list<Wire<ListedReceivedEmail>>('listReceivedEmails', { from })
    const went = await list<Wire<ListedEmail>>('listEmails', { to: from })
    return [
      ...came.filter(one => one.id !== id).map(one => ({ ...one, path: `/received/${one.id}`, direction: 'received' })),
      ...went.map(one => ({ ...one, path: `/emails/${one.id}`, direction: 'sent' })),
    ].sort((a, b) => b.created_at.localeCompare(a.created_at))
  } catch (error) {
    if (error instanceof ApiError && error.name === 'validation_error') return [] // From has no address that can be looked for
    throw error
  }
}
