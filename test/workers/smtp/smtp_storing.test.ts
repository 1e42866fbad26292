import { hash, randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { v7 as uuid } from 'uuid'
import { createBlobs } from '#flows/files/blobs.ts'
import { type Foundation, layFoundation } from '#flows/process/run_process.ts'
import type { SmtpLimits } from '#lib/receiving/smtp/limits.ts'
import { startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { openTransaction, untilBlocked } from '#test/support/database/locks.ts'
import { givePlan } from '#test/support/database/states.ts'
import { startS3Server } from '#test/support/http/s3_server.ts'
import { newReceiver } from '#test/support/receiving.ts'
import { shows } from '#test/support/shows.ts'
import { openClient, type SmtpClient } from '#test/support/smtp/smtp_client.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { openWorld, testConfig } from '#test/support/world.ts'
import { startSmtp } from '#workers/smtp.ts'

const SETTINGS = { SMTP_PORT: '0', SMTP_GREETING_DELAY_MS: '0' }
const world = await openWorld(t, SETTINGS)
const { port } = await start(t, world)
const query = (text: string, values: unknown[] = []) => world.pool.pg.query(text, values).then(result => result.rows)

t.test('a message acknowledged with 250 is stored, with repaired line ends', async t => {
  const account = await newReceiver(world)
  const client = await openClient(t, port)
  const cases: [sent: string, stored: string][] = [
    ['Subject: a\r\n\r\nHello', 'Subject: a\r\n\r\nHello\r\n'],
    ['a: b\r\n\r\nc\nd\re\r\r\nf\n\r', 'a: b\r\n\r\nc\r\nd\r\ne\r\n\r\nf\r\n\r\n\r\n'],
    ['a: b\r\n\r\n..\r\n...x\r\n\0 \xff', 'a: b\r\n\r\n.\r\n..x\r\n\0 \xff\r\n'],
    ['\xef\xbb\xbfSubject: a\r\n\r\n\xef\xbb\xbfb', 'Subject: a\r\n\r\n\xef\xbb\xbfb\r\n'],
    ['\xef\xbb\xbf\xef\xbb\xbf', '\xef\xbb\xbf\r\n'],
    ['\xef\xbb', '\xef\xbb\r\n'],
    ['', '\r\n'],
  ]
  for (const [sent, stored] of cases) {
    const to = `${uuid()}@${account.domain}`
    t.equal(await client.send(to, Buffer.from(sent, 'latin1'), ''), '250 2.0.0 Stored')
    const [row] = await find(to)
    shows(t, row, {
      state: 'stored',
      mail_from: '',
      received_for: [to],
      domain_id: account.domain_id,
      client: { address: '127.0.0.1', helo: 'client.test', name: null, tls: null },
      sha256: Buffer.from(hash('sha256', Buffer.from(stored, 'latin1')), 'hex'),
    })
    t.equal((await rawOf(world, row)).toString('latin1'), stored)
  }
})

t.test('a message to a domain that is being deleted is stored without the domain', async t => {
  const account = await newReceiver(world)
  const client = await openClient(t, port)
  const deletion = await openTransaction(t, world)
  await deletion.query('DELETE FROM domains WHERE id = $1', [account.domain_id])
  const reply = client.send(`a@${account.domain}`, 'Subject: a\r\n\r\nHello')
  await untilBlocked(world, '%receive_emails%')
  await deletion.commit()
  t.equal(await reply, '250 2.0.0 Stored')
  shows(t, await find(`a@${account.domain}`), [{ domain_id: null }])
})

t.test('concurrent messages share a commit and a job', async t => {
  const account = await newReceiver(world)
  const clients = await Promise.all(Array.from({ length: 20 }, () => openClient(t, port)))
  await query('DELETE FROM graphile_worker._private_jobs')
  const raw = (n: number) => `Subject: ${n}\r\n\r\n${'x\r\n'.repeat(2_000 * n)}`
  const replies = clients.map((client, n) => client.send(`p${n}@${account.domain}`, raw(n)))
  t.ok((await Promise.all(replies)).every(reply => reply.startsWith('250')))
  const jobs = await query('SELECT payload FROM graphile_worker._private_jobs')
  const ids = jobs.flatMap(job => job.payload.ids.map(({ id }: { id: string }) => id))
  const stored = await query('SELECT id FROM received_emails WHERE account_id = $1', [account.id])
  t.strictSame(ids.sort(), stored.map(row => row.id).sort())
  t.ok(jobs.length < 20, `${jobs.length} jobs`)
  for (const n of clients.keys()) {
    const [row] = await find(`p${n}@${account.domain}`)
    t.equal((await rawOf(world, row)).toString(), `${raw(n)}\r\n`)
  }
})

t.test('a message repeated within 7 days for the same recipients is stored once', async t => {
  const account = await newReceiver(world)
  const to = [`a@${account.domain}`, `b@${account.domain}`]
  const raw = `Message-ID: <${uuid()}@y.com>\r\n\r\nHello`
  const clients = await Promise.all([openClient(t, port), openClient(t, port), openClient(t, port)])
  for (const reply of await Promise.all(clients.map(client => client.send(to, raw)))) t.match(reply, /^250 /)
  const client = clients[0] as SmtpClient
  t.match(await client.send(to.toReversed(), raw), /^250 /)
  t.equal((await find(to[0])).length, 1)
  t.match(await client.send(to[0] as string, raw), /^250 /, 'for other recipients it is a different email')
  t.equal((await find(to[0])).length, 2)
  await query("UPDATE received_emails SET created_at = now() - interval '8 days' WHERE account_id = $1", [account.id])
  t.match(await client.send(to, raw), /^250 /)
  t.equal((await find(to[0])).length, 3)
  t.strictSame(await query('SELECT count(*)::int FROM blobs WHERE account_id = $1', [account.id]), [{ count: 1 }])
})

t.test('messages without a Message-ID are all stored, even if equal', async t => {
  const account = await newReceiver(world)
  const to = `alarm@${account.domain}`
  const clients = await Promise.all([openClient(t, port), openClient(t, port)])
  const begin = 'Subject: Message-ID: none\r\n Message-ID: folded\r\n\r\nMessage-ID: <in@the.text>\r\n'
  let count = 0
  for (const raw of [begin, begin + '0123456789\r\n'.repeat(50_000)]) {
    for (const _ of [1, 2]) {
      for (const reply of await Promise.all(clients.map(client => client.send(to, raw)))) t.match(reply, /^250 /)
      count += 2
      t.equal((await find(to)).length, count)
    }
  }
  t.strictSame(await query('SELECT count(*)::int FROM blobs WHERE account_id = $1', [account.id]), [{ count: 2 }])
})

t.test('a message for several accounts is stored for all or none', async t => {
  const [one, two] = [await newReceiver(world), await newReceiver(world)]
  const to = [`a@${one.domain}`, `b@${two.domain}`, `Ab.C+d@${one.domain.toUpperCase()}`]
  const client = await openClient(t, port)
  for (const raw of ['Subject: x\r\n\r\n', `Subject: long\r\n\r\n${'0123456789\r\n'.repeat(50_000)}`]) {
    t.match(await client.send(to, raw), /^250 /)
    const rows = await query('SELECT * FROM received_emails WHERE account_id = ANY ($1) ORDER BY id', [
      [one.id, two.id],
    ])
    const mine = rows.filter(row => row.account_id === one.id).at(-1)
    const theirs = rows.filter(row => row.account_id === two.id).at(-1)
    t.strictSame(mine.received_for, [`a@${one.domain}`, `Ab.C+d@${one.domain}`])
    t.strictSame(theirs.received_for, [`b@${two.domain}`])
    for (const row of [mine, theirs]) t.equal((await rawOf(world, row)).toString(), `${raw}\r\n`)
  }
})

t.test('received messages count toward the quota, and are refused beyond it', async t => {
  const account = await newReceiver(world)
  await givePlan(world, account, { emails_per_day: 3, emails_per_month: 10 })
  const client = await openClient(t, port)
  t.match(await client.send([`a@${account.domain}`, `b@${account.domain}`], 'x: y\r\n\r\n'), /^250 /)
  t.strictSame(await query('SELECT emails FROM usage_minutes WHERE account_id = $1', [account.id]), [{ emails: 2 }])
  await client.command('MAIL FROM:<a@y.com>')
  t.match(await client.command(`RCPT TO:<a@${account.domain}>`), /^250 /)
  t.match(await client.command(`RCPT TO:<b@${account.domain}>`), /^452 4\.2\.2 /)
  const other = await openClient(t, port)
  t.match(await other.send(`c@${account.domain}`, 'x: z\r\n\r\n'), /^250 /, 'a client that was quicker')
  t.match(await client.command('DATA'), /^354 /)
  t.match(await client.command('x: y\r\n\r\n.'), /^250 /, 'an accepted message is not bounced')
  t.strictSame(await query('SELECT emails FROM usage_hours WHERE account_id = $1', [account.id]), [{ emails: 4 }])
})

t.test('with S3 every message is stored there first', async t => {
  const s3 = await startS3Server(t)
  const account = await newReceiver(world)
  const config = { ...world.config, BLOB_STORE: s3.url }
  const { port } = await start(t, { ...world, config })
  const client = await openClient(t, port)
  for (const raw of ['Subject: x\r\n\r\n', `Subject: long\r\n\r\n${randomBytes(4_000_000).toString('base64')}`]) {
    const to = `${uuid()}@${account.domain}`
    t.match(await client.send(to, raw), /^250 /)
    const [row] = await find(to)
    const [blob] = await query('SELECT store FROM blobs WHERE id = $1', [row.raw_blob_id])
    t.match(blob, { store: 's3' })
    t.equal((await rawOf({ ...world, config }, row)).toString(), `${raw}\r\n`)
  }
})

t.test('a bucket that hangs affects only long messages, each stored or refused', async t => {
  const s3 = await startS3Server(t)
  const account = await newReceiver(world)
  const config = { ...world.config, BLOB_STORE: s3.url }
  const { port } = await start(t, { ...world, config }, { place_ms: 300, bucket_ms: 300, connections_per_address: 40 })
  const long = (n: number) => `Subject: ${n}\r\n\r\n${'0123456789\r\n'.repeat(25_000)}`
  const open = () => openClient(t, port)
  s3.hang(/./)
  const hanging = Array.from({ length: 20 }, async (_, n) => (await open()).send(`a${n}@${account.domain}`, long(n)))
  await waitUntil(() => s3.requests.length >= 20, 'the bucket has 20 requests')

  t.equal(
    await (await open()).send(`refused@${account.domain}`, long(20)),
    '451 4.3.0 Too many long messages, try again later',
  )
  const short = 'Message-ID: <1@y.com>\r\n\r\nHello\r\n'
  const client = await open()
  for (let n = 0; n < 7; n++) t.match(await client.send(`short${n}@${account.domain}`, short + n), /^250 /)
  const rows = await query(
    'SELECT r.*, b.store FROM received_emails r JOIN blobs b ON b.id = r.raw_blob_id WHERE r.account_id = $1 ORDER BY r.id',
    [account.id],
  )
  t.same(
    rows.map(row => row.store),
    Array(7).fill('postgres'),
  )
  for (const [n, row] of rows.entries())
    t.equal((await rawOf({ ...world, config }, row)).toString(), `${short}${n}\r\n`)
  t.equal(s3.requests.length, 25, 'after five failures the bucket is skipped')

  s3.speak()
  for (const reply of await Promise.all(hanging)) t.match(reply, /^250 /)
  for (let n = 0; n < 20; n++) {
    const [row] = await find(`a${n}@${account.domain}`)
    t.equal((await rawOf({ ...world, config }, row)).toString(), `${long(n)}\r\n`)
  }
  t.same(await find(`refused@${account.domain}`), [])
  t.match(await client.send(`refused@${account.domain}`, long(20)), /^250 /)
  t.match(await client.send(`again@${account.domain}`, short), /^250 /)
  const [again] = await find(`again@${account.domain}`)
  t.same(await query('SELECT store FROM blobs WHERE id = $1', [again.raw_blob_id]), [{ store: 's3' }])
})

t.test('a long message is refused at once when 40 others wait', async t => {
  const s3 = await startS3Server(t)
  const account = await newReceiver(world)
  const config = { ...world.config, BLOB_STORE: s3.url }
  const { port } = await start(t, { ...world, config }, { place_ms: 60_000, connections_per_address: 70 })
  const raw = `Subject: long\r\n\r\n${'0123456789\r\n'.repeat(25_000)}`
  s3.hang(/./)
  const refused = Promise.withResolvers<string>()
  const replies = Array.from({ length: 61 }, async (_, n) => {
    const reply = await (await openClient(t, port)).send(`${n}@${account.domain}`, `n: ${n}\r\n${raw}`)
    if (!reply.startsWith('250')) refused.resolve(reply)
    return reply
  })
  t.match(await refused.promise, /^451 4\.3\.0 Too many long messages/)
  s3.speak()
  const stored = (await Promise.all(replies)).filter(reply => reply.startsWith('250'))
  t.equal(stored.length, 60)
  t.same(await query('SELECT count(*)::int FROM received_emails WHERE account_id = $1', [account.id]), [{ count: 60 }])
})

t.test('a failing Postgres gives 451, never 250 without storing or 5xx', async t => {
  const account = await newReceiver(world)
  const proxy = await startPgProxy(world.config.DATABASE_URL as string)
  t.teardown(() => proxy.close())
  const foundation = await layFoundation(testConfig(proxy.url, SETTINGS), world.log)
  t.teardown(() => foundation.pool.end())
  const { port } = await start(t, foundation, { remember_ms: 0 })
  const client = await openClient(t, port)
  const to = `a@${account.domain}`
  const long = 'x: y\r\n\r\n'.repeat(80_000)

  await t.test('whose reply is lost', async t => {
    const cut = proxy.cutReply('receive_emails')
    t.match(await client.send(to, 'n: 1\r\n\r\n'), /^250 /, 'it is read back')
    await cut
    t.equal((await find(to)).length, 1)
  })
  await t.test('that did not get the statement', async t => {
    const cut = proxy.cutRequest('receive_emails')
    t.match(await client.send(to, 'n: 2\r\n\r\n'), /^451 4\.3\.0 /)
    await cut
    t.equal((await find(to)).length, 1)
    t.match(await client.send(to, 'n: 2\r\n\r\n'), /^250 /)
    t.equal((await find(to)).length, 2)
  })
  await t.test('that is still executing it', async t => {
    await query(`CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_sleep(10); RETURN NULL; END $$`)
    await query('CREATE TRIGGER dawdle AFTER INSERT ON received_emails FOR EACH STATEMENT EXECUTE FUNCTION dawdle()')
    const dawdling = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`
    const isDawdling = async () => (await query(dawdling)).length > 0
    const before = (await find(to)).length
    const answer = client.send(to, 'n: 2.5\r\n\r\n')
    await waitUntil(isDawdling, 'the statement is running')
    proxy.cut()
    t.match(await answer, /^451 4\.3\.0 /)
    await waitUntil(async () => !(await isDawdling()), 'the statement has ended')
    t.equal((await find(to)).length, before, 'it is not stored later')
    await query('DROP FUNCTION dawdle CASCADE')
  })
  await t.test('that becomes unreachable', async t => {
    for (const raw of ['n: 3\r\n\r\n', long]) {
      await client.begin(to)
      proxy.refuse(true)
      proxy.cut()
      client.write(`${raw}\r\n.\r\n`)
      t.match(await client.reply(), /^451 4\.3\.0 /)
      await client.command('MAIL FROM:<a@y.com>')
      t.match(await client.command(`RCPT TO:<${to}>`), /^451 4\.3\.0 /)
      t.match(await client.command('RSET'), /^250 /)
      proxy.refuse(false)
      t.match(await client.send(to, raw), /^250 /)
    }
    t.equal((await find(to)).length, 4)
  })
  await t.test('whose connections are all in use', async t => {
    const { pg } = foundation.pool
    await client.begin(to)
    const taken = await Promise.all(Array.from({ length: pg.options.max }, () => pg.connect()))
    t.match(await client.command('n: 5\r\n\r\n.'), /^451 4\.3\.0 /)
    for (const connection of taken) connection.release()
    t.match(await client.send(to, 'n: 5\r\n\r\n'), /^250 /)
    t.equal((await find(to)).length, 5)
  })
  await t.test('whose disk is full', async t => {
    await query(`CREATE FUNCTION fill_disk() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$`)
    await query('CREATE TRIGGER fill_disk BEFORE INSERT ON blobs EXECUTE FUNCTION fill_disk()')
    for (const raw of ['n: 6\r\n\r\n', `${long}6`]) t.match(await client.send(to, raw), /^451 4\.3\.0 /)
    await query('DROP TRIGGER fill_disk ON blobs')
    for (const raw of ['n: 6\r\n\r\n', `${long}6`]) t.match(await client.send(to, raw), /^250 /)
    t.equal((await find(to)).length, 7)
  })
})

t.test('a message not stored in time gets 451 and is stored only once', async t => {
  const account = await newReceiver(world)
  const { port } = await start(t, world, { store_ms: 800, storing: 1 })
  const client = await openClient(t, port)
  const [to, raw] = [`a@${account.domain}`, 'Message-ID: <1@y.com>\r\n\r\n']
  const holder = await openTransaction(t, world)
  await holder.query('LOCK TABLE received_emails IN SHARE MODE')
  t.match(await client.send(to, raw), /^451 4\.3\.0 /)
  t.match(await client.command('MAIL FROM:<a@y.com>'), /^421 4\.3\.2 /, 'other clients are asked to retry later')
  await holder.commit()
  await waitUntil(async () => (await find(to)).length > 0, 'the message is stored')
  const again = await openClient(t, port)
  t.match(await again.send(to, raw), /^250 /)
  t.equal((await find(to)).length, 1)
})

async function start(t: Test, foundation: Foundation, limits: Partial<SmtpLimits> = {}) {
  const smtp = await startSmtp(foundation, limits)
  t.teardown(() => smtp.stop())
  return smtp
}

function find(recipient: string | undefined) {
  return query('SELECT * FROM received_emails WHERE $1 = ANY (received_for)', [recipient])
}

function rawOf(foundation: Foundation, row: { account_id: string; raw_blob_id: string }): Promise<Buffer> {
  return buffer(createBlobs(foundation).read(row.account_id, row.raw_blob_id))
}
