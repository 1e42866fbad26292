import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { indexEmails } from '#flows/sending/index_emails.ts'
import { forgetExpiredEmails } from '#sql/sending/emails.ts'
import { purge } from '#tasks/purge.ts'
import { startApi } from '#test/support/api.ts'
import { acceptEmail, deliverEmails, openWork } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { EMAIL_RETENTION_DAYS: '1' })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world, 'capture')
const INDEX = { size: 2, lag_seconds: -60 }

const tables = ['email_contents', 'email_events', 'deliveries', 'attachments', 'captured_messages']
const countRows = async (id: string) => {
  const counts: Record<string, number> = {}
  for (const table of tables) {
    const column =
      table === 'captured_messages' ? 'delivery_id IN (SELECT id FROM deliveries WHERE email_id = $1)' : 'email_id = $1'
    const { rows } = await world.pool.pg.query(`SELECT count(*)::int AS count FROM ${table} WHERE ${column}`, [id])
    counts[table] = rows[0].count
  }
  return counts
}
const search = async (q: string): Promise<string[]> => {
  const { body } = await api.request('GET', `/api/emails?q=${q}`)
  return (body as unknown as { data: { id: string }[] }).data.map(({ id }) => id)
}

t.test('contents, recipients and events of settled emails are deleted, counts stay', async t => {
  const attachments = [{ filename: 'a.txt', content: Buffer.from('a').toString('base64') }]
  const fields = {
    to: ['zebra@y.com'],
    subject: 'Giraffe',
    html: '<p>Hi',
    tags: [{ name: 'a', value: 'b' }],
    attachments,
  }
  const [old, other, waiting] = await Promise.all([
    acceptEmail(world, account, fields),
    acceptEmail(world, account, { subject: 'Giraffe too' }),
    acceptEmail(world, account, { ...fields, scheduled_at: 'in 1 hour' }),
  ])
  const ids = [old, other] as string[]
  await deliverEmails(work, ids)
  await indexEmails(world.pool, INDEX)
  t.strictSame((await search('giraffe')).sort(), [old, other, waiting].sort())
  const { body: before } = await api.request('GET', `/api/emails/${old}`)

  await purge({}, work)
  t.strictSame((await countRows(old as string)).email_contents, 1, 'it is not a day old')

  await sleep(5) // ids are compared with millisecond precision
  t.equal(await forgetExpiredEmails(world.pool, 0, 100), 2)
  t.strictSame(await countRows(old as string), Object.fromEntries(tables.map(table => [table, 0])))
  const gone = { to: [], subject: '', html: null, text: null, headers: {}, attachments: [] }
  const { body: after } = await api.request('GET', `/api/emails/${old}`)
  t.strictSame({ ...after, updated_at: null, events: null }, { ...before, ...gone, updated_at: null, events: null })
  const { body: kept } = await api.request('GET', `/api/emails/${waiting}`)
  t.match(kept, { subject: 'Giraffe' })
  t.strictSame((kept as { to?: string[] }).to, ['zebra@y.com'])

  t.strictSame(await search('giraffe'), [waiting])
  t.strictSame(await search('zebra'), [waiting])
  await indexEmails(world.pool, INDEX)
  t.strictSame(await search('giraffe'), [waiting])
  t.equal(await forgetExpiredEmails(world.pool, 0, 100), 0)
})

t.test('old emails are deleted in slices', async t => {
  const ids = await Promise.all(Array.from({ length: 7 }, () => acceptEmail(world, account)))
  await deliverEmails(work, ids)
  await sleep(5)
  const counts = []
  for (let n = 0; n < 4; n++) counts.push(await forgetExpiredEmails(world.pool, 0, 3))
  t.strictSame(counts, [3, 3, 1, 0])
})
