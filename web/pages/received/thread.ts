import { ApiError } from '#lib/errors.ts'
import type { ListedReceivedEmail, ReceivedEmail } from '#sql/receiving/received_email_list.ts'
import type { ListedEmail } from '#sql/sending/email_records.ts'
import { type Html, html } from '#web/html.ts'
import { type List, table } from '#web/layout/list.ts'
import { section, time } from '#web/layout/parts.ts'
import { nullIfNotFound } from '#web/request/call_api.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Found = Wire<ReceivedEmail>
type Mail = { path: string; direction: string; subject: string; created_at: string }

const NEWEST = '20'

/** The email that this one replies to, and the newest emails to and from the sender. */
export async function thread(visit: Visit, found: Found): Promise<Html> {
  const original = found.reply_to_email_id
    ? await nullIfNotFound(visit.call<Wire<ListedEmail>>('getEmail', { params: { id: found.reply_to_email_id } }))
    : null
  const others = found.from ? await findOtherEmails(visit, found) : []
  if (!original && others.length === 0) return html``
  return section(
    'Thread',
    html`${original ? html`<p>In reply to <a href="/emails/${original.id}">${original.subject || '(no subject)'}</a>, sent ${time(original.created_at)}.</p>` : ''}
<div data-turbo-prefetch="false">${table({
      caption: `Other emails to and from ${found.from}, newest first`,
      rows: others,
      link: ({ path }: Mail) => path,
      columns: [
        { title: 'Subject', cell: ({ subject }: Mail) => subject || '(no subject)' },
        { title: 'Direction', cell: ({ direction }: Mail) => direction },
        { title: 'Time', cell: ({ created_at }: Mail) => time(created_at) },
      ],
      empty: html``,
    })}</div>`,
  )
}

async function findOtherEmails(visit: Visit, { id, from }: Found): Promise<Mail[]> {
  const list = async <Row>(operation: string, query: Record<string, string>) =>
    (await visit.call<List<Row>>(operation, { query: { ...query, limit: NEWEST } })).data
  try {
    const received = await list<Wire<ListedReceivedEmail>>('listReceivedEmails', { from })
    const sent = await list<Wire<ListedEmail>>('listEmails', { to: from })
    return [
      ...received
        .filter(one => one.id !== id)
        .map(one => ({ ...one, path: `/received/${one.id}`, direction: 'received' })),
      ...sent.map(one => ({ ...one, path: `/emails/${one.id}`, direction: 'sent' })),
    ].sort((a, b) => b.created_at.localeCompare(a.created_at))
  } catch (error) {
    if (error instanceof ApiError && error.name === 'validation_error') return [] // From is not an address to search for
    throw error
  }
}
