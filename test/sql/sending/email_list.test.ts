import t, { type Test } from 'tap'
import { indexEmails } from '#flows/sending/index_emails.ts'
import { type EmailFilters, listEmails } from '#sql/sending/search/email_list.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const account = await newAccount(world)

type Row = { id: string; subject: string; status: string; last_event: string; has_tag: boolean }

/** More of every status than a search reads before it turns to the blocks, of which there are 150. */
const COUNT = 1_200
const id = await acceptEmail(world, account)
const { rows } = await pool.pg.query<Row>(
  `INSERT INTO emails (account_id, id, message_id, sender, "to", cc, bcc, reply_to, subject, tags, status, last_event)
   SELECT e.account_id, uuidv7(n * interval '1 second' - interval '1 hour'), n, sender, "to", cc, bcc, reply_to,
     'No. ' || n || '!', CASE WHEN n % 3 = 0 THEN '[{"name":"kind","value":"a"}]' ELSE '[]' END::jsonb,
     CASE WHEN n % 2 = 0 THEN 'delivered' ELSE 'bounced' END, (ARRAY['opened', 'delivered'])[1 + n / 2 % 2]
   FROM emails e, generate_series(1, $2) AS n WHERE e.id = $1
   RETURNING id, subject, status, last_event, tags <> '[]' AS has_tag`,
  [id, COUNT],
)
await pool.pg.query('DELETE FROM emails WHERE id = $1', [id])
await indexEmails(pool, { size: 8, lag_seconds: 0 })
const newestFirst = rows.toSorted((a, b) => (a.id < b.id ? 1 : -1))

async function shows(t: Test, filters: EmailFilters, is: (row: Row) => boolean): Promise<void> {
  const expected = newestFirst.filter(is).map(row => row.id)
  const found: string[] = []
  for (let has_more = true; has_more; ) {
    const page = await listEmails(pool, account.id, { limit: 60, after: found.at(-1) }, filters)
    found.push(...page.data.map(email => email.id))
    has_more = page.has_more
  }
  t.strictSame(found, expected, `${JSON.stringify(filters)} after`)
  const backwards: string[] = []
  for (let has_more = true; has_more; ) {
    const before = backwards[0] ?? '00000000-0000-0000-0000-000000000000'
    const page = await listEmails(pool, account.id, { limit: 60, before }, filters)
    backwards.unshift(...page.data.map(email => email.id))
    has_more = page.has_more
  }
  t.strictSame(backwards, expected, `${JSON.stringify(filters)} before`)
}

t.test('a search combines text, tags and statuses, in both directions', async t => {
  const of = (statuses: string[], events: string[] = []) => ({ status: { statuses, events } })
  const isOf = (row: Row, name: string) => row.status === name
  const isOpened = (row: Row) => row.last_event === 'opened'
  await shows(t, { q: '7!', ...of(['bounced']) }, row => /7!$/.test(row.subject) && isOf(row, 'bounced'))
  await shows(t, { q: '7!', ...of(['delivered']) }, () => false)
  await shows(t, { q: '8!', ...of([], ['opened']) }, row => /8!$/.test(row.subject) && isOpened(row))
  await shows(t, { tag: 'kind:a', ...of(['bounced']) }, row => row.has_tag && isOf(row, 'bounced'))
  await shows(
    t,
    { tag: 'kind', folder: ['bounced'], ...of([], ['opened']) },
    row => row.has_tag && isOpened(row) && row.status === 'bounced',
  )
  await shows(
    t,
    { tag: 'kind', q: 'no. 1', ...of(['delivered'], ['opened']) },
    row => row.has_tag && /No. 1/.test(row.subject) && (isOf(row, 'delivered') || isOpened(row)),
  )
})
