import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { sweepReceivedEmails } from '#flows/receiving/sweep_emails.ts'
import { parse_email } from '#tasks/parse_email.ts'
import { purge } from '#tasks/purge.ts'
import { startApi } from '#test/support/api.ts'
import { MIME_BOMBS } from '#test/support/mail/mime_bombs.ts'
import { listReceivedMessages, varyReceivedMessages } from '#test/support/mail/received_messages.ts'
import { asStored, storeMessages, withoutReturnPath, withoutTrace } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world)
const receive = (...raws: Buffer[]) => storeMessages(world, account, raws)
const find = async (id: string) => (await pg.query('SELECT * FROM received_emails WHERE id = $1', [id])).rows[0]
const WITH_FILE = Buffer.from('Subject: x\r\nContent-Type: application/pdf; name=a.pdf\r\n\r\nfile')

t.test('received emails are shown parsed, and raw byte for byte', async t => {
  const all = [...listReceivedMessages().map(({ raw }) => raw), ...varyReceivedMessages(7, 40)]
  const messages = [...new Map(all.map(asStored).map(raw => [raw.toString('latin1'), raw])).values()]
  const ids = await receive(...messages)
  for (let start = 0; start < ids.length; start += 100) await parse_email({ ids: ids.slice(start, start + 100) }, work)
  const { status, body } = await api.request('GET', '/api/emails/receiving')
  t.match({ status, body }, { status: 200, body: { data: { length: messages.length } } })
  const headers = { authorization: `Bearer ${account.key}`, 'user-agent': 'test' }
  for (const [i, { id }] of ids.entries()) {
    const path = `/api/emails/receiving/${id}`
    const one = await api.request('GET', path)
    t.match(one, { status: 200, body: { id, raw_available: true } })
    const raw = await fetch(`${api.url}${path}/raw`, { headers })
    const served = Buffer.from(await raw.arrayBuffer())
    const expected = withoutReturnPath(messages[i] as Buffer)
    if (!withoutTrace(served).equals(expected)) t.fail(`raw of message ${i}`)
    if (raw.headers.get('content-length') !== String(served.length)) t.fail(`length of message ${i}`)
  }
})

t.test('an email parsed by two workers at once is parsed once', async t => {
  const ids = await receive(WITH_FILE)
  await Promise.all([parse_email({ ids }, work), parse_email({ ids }, work), parse_email({ ids }, work)])
  const { body } = await api.request('GET', `/api/emails/receiving/${ids[0]?.id}`)
  t.match(body, { subject: 'x', attachments: { length: 1, 0: { filename: 'a.pdf', size: 4 } } })
})

t.test('an email that cannot be parsed keeps its raw message and says why', async t => {
  const bomb = (MIME_BOMBS['many headers'] as (scale: number) => Buffer)(10)
  const [id] = (await receive(bomb)) as [{ account_id: string; id: string }]
  await parse_email({ ids: [id] }, work)
  const why = 'The headers of a part are longer than 1 MB: what follows was not read.'
  shows(t, await find(id.id), { state: 'unreadable', parse_error: why })
  const { status, body } = await api.request('GET', `/api/emails/receiving/${id.id}`)
  t.match({ status, body }, { status: 200, body: { parse_error: why, raw_available: true } })
})

t.test('a failing blob store delays only its own emails, which are retried', async t => {
  const ids = await receive(Buffer.from('Subject: lost\r\n\r\nx'), Buffer.from('Subject: there\r\n\r\nx'))
  const [lost, there] = ids.map(({ id }) => id) as [string, string]
  const { raw_blob_id } = await find(lost)
  const blobs: typeof work.blobs = {
    ...work.blobs,
    read: (account_id, id) => {
      if (id === raw_blob_id) throw new Error('the store is away')
      return work.blobs.read(account_id, id)
    },
  }
  await t.rejects(parse_email({ ids }, { ...work, blobs }), { message: 'the store is away' })
  shows(t, [await find(lost), await find(there)], [{ state: 'stored' }, { state: 'parsed', subject: 'there' }])
  await parse_email({ ids }, work)
  shows(t, await find(lost), { state: 'parsed', subject: 'lost' })
})

t.test('an email that killed its parsers three times is not parsed again, unlike one whose blob failed', async t => {
  const [id] = (await receive(Buffer.from('Subject: deadly\r\n\r\nx'))) as [{ account_id: string; id: string }]
  const die = () => pg.query('UPDATE received_emails SET parse_tries = 3 WHERE id = $1', [id.id])
  await die()
  const read = () => {
    throw new Error('the store is away')
  }
  await parse_email({ ids: [id] }, { ...work, blobs: { ...work.blobs, read } })
  shows(t, await find(id.id), { state: 'unreadable', parse_error: 'Each process that read it crashed.' })

  const [other] = (await receive(Buffer.from('Subject: fine\r\n\r\nx'))) as [{ account_id: string; id: string }]
  for (let tries = 0; tries < 5; tries++) {
    await t.rejects(parse_email({ ids: [other] }, { ...work, blobs: { ...work.blobs, read } }))
  }
  await parse_email({ ids: [other] }, work)
  shows(t, await find(other.id), { state: 'parsed', subject: 'fine' })
})

t.test('an email that killed a parser is parsed alone, and those that wait for it are not counted', async t => {
  const ids = await receive(...Array.from({ length: 10 }, (_, n) => Buffer.from(`Subject: ${n}\r\n\r\nx`)))
  const listTried = async () =>
    (await pg.query('SELECT id, parse_tries FROM received_emails WHERE parse_tries > 0 AND state = $1', ['stored']))
      .rows
  let tried: { id: string; parse_tries: number }[][] = []
  const read = async function* (): AsyncGenerator<Buffer> {
    await sleep(100) // for others, which are parsed at the same time
    tried.push(await listTried())
    yield Buffer.from('Subject: ')
    throw new Error('the store is away')
  }
  const parse = () => t.rejects(parse_email({ ids }, { ...work, blobs: { ...work.blobs, read } }))
  await parse()
  t.ok(
    tried.some(rows => rows.length > 1),
    'others are parsed together',
  )

  tried = []
  const deadly = { id: ids[7]?.id, parse_tries: 2 }
  await pg.query('UPDATE received_emails SET parse_tries = 1 WHERE id = $1', [deadly.id])
  await parse()
  t.equal(tried.length, 10)
  t.strictSame(
    tried.filter(rows => rows.some(row => row.id === deadly.id && row.parse_tries === 2)),
    [[deadly]],
  )
})

t.test('an email not parsed within a minute is queued once more', async t => {
  const [id] = (await receive(Buffer.from('Subject: late\r\n\r\nx'))) as [{ account_id: string; id: string }]
  const jobs = async () => (await pg.query('SELECT payload, priority FROM graphile_worker._private_jobs')).rows
  t.ok((await jobs()).length > 0)
  t.ok((await jobs()).every(({ priority }) => priority === 20))
  await pg.query('DELETE FROM graphile_worker._private_jobs')
  await sweepReceivedEmails(world.pool, world.log)
  t.strictSame(await jobs(), [], 'not while its first job may wait')
  await pg.query(`UPDATE received_emails SET parse_due_at = now() - interval '1 second' WHERE id = $1`, [id.id])
  await Promise.all([sweepReceivedEmails(world.pool, world.log), sweepReceivedEmails(world.pool, world.log)])
  t.strictSame(await jobs(), [{ payload: { ids: [id] }, priority: 20 }], 'after all else that there is to do')
})

t.test('RAW_RETENTION_DAYS deletes raw messages but no attachments', async t => {
  const [old, recent, waiting] = (await receive(
    ...['old', 'recent', 'waiting'].map(name => Buffer.concat([Buffer.from(`X: ${name}\r\n`), WITH_FILE])),
  )) as [{ account_id: string; id: string }, { account_id: string; id: string }, { account_id: string; id: string }]
  await parse_email({ ids: [old, recent] }, work)
  await pg.query(`UPDATE received_emails SET created_at = now() - interval '31 days' WHERE id = ANY($1)`, [
    [old.id, waiting.id],
  ])
  await pg.query(`UPDATE blobs SET used_at = now() - interval '2 days'`)
  const config = { ...world.config, RAW_RETENTION_DAYS: 0 }
  await purge({}, { ...work, config })
  t.ok((await find(old.id)).raw_blob_id, 'for ever')

  const { raw_blob_id } = await find(old.id)
  await purge({}, work)
  const { body } = await api.request('GET', `/api/emails/receiving/${old.id}`)
  shows(t, body, { raw_available: false, attachments: [{ filename: 'a.pdf', downloadable: true }] })
  t.notHas(body, { raw: {} })
  t.equal((await api.request('GET', `/api/emails/receiving/${old.id}/raw`)).status, 404)
  t.match(await count('blobs', 'id', raw_blob_id), 0)
  const { blob_id } = (
    await pg.query('SELECT blob_id FROM received_attachments WHERE received_email_id = $1', [old.id])
  ).rows[0]
  t.match(await count('blobs', 'id', blob_id), 1)
  for (const { id } of [recent, waiting]) t.match(await count('blobs', 'id', (await find(id)).raw_blob_id), 1)
})

async function count(table: string, column: string, id: string): Promise<number> {
  return (await pg.query(`SELECT count(*)::int AS count FROM ${table} WHERE ${column} = $1`, [id])).rows[0].count
}
