import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import t from 'tap'
import { createBlobs } from '#flows/files/blobs.ts'
import type { JudgeTimes } from '#flows/receiving/judge_message.ts'
import { parseEmails } from '#flows/receiving/parse_email.ts'
import type { Config } from '#lib/config.ts'
import type { ReceivedEmailId } from '#sql/receiving/received_emails.ts'
import { startZone } from '#test/support/dns/name_server.ts'
import { storeContent } from '#test/support/receiving.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const { server, zone, asked: questions } = await startZone(t, { 'y.com': { TXT: ['v=spf1 ip4:192.0.2.1 ~all'] } })
const world = await openWorld(t, { DNS_SERVERS: server, SERVER_DOMAIN: 'mailbrook.test' })
const account = await newAccount(world)
const blobs = createBlobs(world)
t.teardown(() => blobs.close())

const message = 'From: a@y.com\r\nTo: b@x.com\r\nSubject: Hello\r\n\r\nHi\r\n'

type ReceiveOptions = { address?: string; config?: Partial<Config>; judge_times?: JudgeTimes }

/** Receives a message, by default from 192.0.2.1, and parses it; returns its row. */
async function receive(
  raw: string,
  { address = '192.0.2.1', config = {} as Partial<Config>, judge_times }: ReceiveOptions = {},
) {
  await storeContent(
    { ...world, blobs },
    {
      mail_from: 'a@y.com',
      recipients: [{ account_id: account.id, domain_id: account.domain_id, recipient: `me@${account.domain}` }],
      client: { address, helo: 'mx.y.com', name: null, tls: null },
    },
    Buffer.from(raw),
  )
  const { rows } = await world.pool.pg.query(
    "SELECT account_id, id FROM received_emails WHERE state = 'stored' ORDER BY id DESC LIMIT 1",
  )
  await parseEmails({ ...world, blobs, config: { ...world.config, ...config }, ...(judge_times && { judge_times }) }, [
    rows[0],
  ])
  const found = await world.pool.pg.query(
    `SELECT state, spf, verdicts, headers, raw_blob_id FROM received_emails e
     LEFT JOIN received_contents c ON (c.account_id, c.received_email_id) = (e.account_id, e.id) WHERE e.id = $1`,
    [rows[0].id],
  )
  return found.rows[0]
}

t.test('SPF is always checked; rspamd and clamd only if configured', async t => {
  const none = { dkim: 'GRAY', dmarc: 'GRAY', spam: 'DISABLED', virus: 'DISABLED' }
  shows(t, await receive(message), { state: 'parsed', spf: 'pass', verdicts: { spf: 'PASS', ...none } })
  const other = await receive(message.replace('Hi', 'Ho'), { address: '192.0.2.7' })
  shows(t, other, { state: 'parsed', spf: 'softfail', verdicts: { spf: 'GRAY', ...none } })
})

t.test('the verdicts of rspamd and clamd are stored', async t => {
  const rspamd = createServer((request, response) => {
    request
      .resume()
      .on('end', () => response.end(`{"action":"${request.headers.from === 'a@y.com' ? 'reject' : '?'}"}`))
  }).listen(0, '127.0.0.1')
  const clamd = createTcpServer(socket => socket.once('data', () => socket.end('stream: Eicar FOUND\0')))
  clamd.listen(0, '127.0.0.1')
  await Promise.all([once(rspamd, 'listening'), once(clamd, 'listening')])
  t.teardown(() => {
    rspamd.closeAllConnections()
    rspamd.close()
    clamd.close()
  })
  const RSPAMD_URL = `http://localhost:${(rspamd.address() as AddressInfo).port}`
  const CLAMAV = { host: '127.0.0.1', port: (clamd.address() as AddressInfo).port }
  const found = await receive(message.replace('Hi', 'Buy'), { config: { RSPAMD_URL, CLAMAV } })
  shows(t, found, { state: 'parsed', verdicts: { spf: 'PASS', spam: 'FAIL', virus: 'FAIL' } })
})

t.test('hanging services are tried for five messages; later mail does not wait', async t => {
  let asked = 0
  const silent = createTcpServer(socket => {
    asked++
    socket.on('error', () => {}).resume()
  }).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const { port } = silent.address() as AddressInfo
  const config: Partial<Config> = { RSPAMD_URL: `http://127.0.0.1:${port}`, CLAMAV: { host: '127.0.0.1', port } }
  const failed = { verdicts: { spam: 'PROCESSING_FAILED', virus: 'PROCESSING_FAILED' } }
  for (let n = 0; n < 5; n++) {
    const found = await receive(`${message}${n}`, { config, judge_times: { rspamd_ms: 100, clamav_ms: 100 } })
    shows(t, found, { state: 'parsed', ...failed })
  }
  t.equal(asked, 10)
  // With these timeouts the test would time out if it waited.
  const patient = { rspamd_ms: 60_000, clamav_ms: 60_000 }
  shows(t, await receive(`${message}later`, { config, judge_times: patient }), { state: 'parsed', ...failed })
  t.equal(asked, 10)
})

t.test('an unreachable service does not delay mail', async t => {
  zone['y.com'] = 'servfail'
  t.teardown(() => {
    zone['y.com'] = 'missing'
  })
  const config: Partial<Config> = { RSPAMD_URL: 'http://127.0.0.1:1', CLAMAV: { path: '/nowhere/clamd.ctl' } }
  shows(t, await receive(message.replace('Hi', 'Anybody?'), { config }), {
    state: 'parsed',
    spf: 'temperror',
    verdicts: { spf: 'PROCESSING_FAILED', spam: 'PROCESSING_FAILED', virus: 'PROCESSING_FAILED' },
  })
})

t.test('messages whose DNS does not respond wait at the same time', async t => {
  const silent = Array.from({ length: 8 }, (_, n) => `silent${n}.com`)
  for (const name of silent) zone[name] = 'silent'
  const ids: ReceivedEmailId[] = []
  for (const name of silent) {
    const envelope = {
      mail_from: `a@${name}`,
      recipients: [{ account_id: account.id, domain_id: account.domain_id, recipient: `me@${account.domain}` }],
      client: { address: '192.0.2.1', helo: name, name: null, tls: null },
    }
    await storeContent({ ...world, blobs }, envelope, Buffer.from(message.replace('Hi', name)))
    const { rows } = await world.pool.pg.query('SELECT account_id, id FROM received_emails ORDER BY id DESC LIMIT 1')
    ids.push(rows[0])
  }
  const read = async () => {
    const found = 'SELECT state, spf, count(*)::int FROM received_emails WHERE id = ANY ($1) GROUP BY state, spf'
    return (await world.pool.pg.query(found, [ids.map(({ id }) => id)])).rows
  }
  const parsing = parseEmails({ ...world, blobs }, ids)
  await waitUntil(() => silent.every(name => questions.includes(`TXT ${name}`)), 'DNS is asked about each')
  const waiting = (await read()).find(({ state }) => state === 'stored')?.count ?? 0
  // One after the other, the last one would wait alone. A busy machine may give up the first before it asks about the last.
  t.ok(waiting >= 4, `${waiting} of 8 wait`)
  await parsing
  t.strictSame(await read(), [{ state: 'parsed', spf: 'temperror', count: 8 }])
})

t.test('an unreadable message is judged too', async t => {
  const found = await receive(`From: a@y.com\r\n${'X: y\r\n'.repeat(250_000)}`)
  shows(t, found, {
    state: 'unreadable',
    spf: String,
    verdicts: { spf: String, dkim: 'PROCESSING_FAILED', spam: 'DISABLED' },
  })
})

t.test('forged Authentication-Results of our name are hidden, but stay in the raw message', async t => {
  const spoofed = [
    'Authentication-Results: mailbrook.test; spf=pass',
    'AUTHENTICATION-RESULTS: (hello)\r\n\tMailbrook.Test 1;\r\n dmarc=pass',
    'Authentication-results : "mailbrook.test"; dkim=pass',
    'Authentication-Results: =?utf-8?q?mailbrook.test?=; dkim=pass',
    'Authentication-Results: inbound.mailbrook.test; dkim=pass',
  ]
  const theirs = 'Authentication-Results: relay.org; spf=none'
  const raw = `${[...spoofed, theirs].join('\r\n')}\r\n${message}`
  const { headers, raw_blob_id } = await receive(raw)
  t.equal(headers['authentication-results'], 'relay.org; spf=none')
  t.notMatch(JSON.stringify(headers).toLowerCase(), /mailbrook\.test/)
  const stored = await Array.fromAsync(blobs.read(account.id, raw_blob_id))
  t.equal(Buffer.concat(stored).toString(), raw)
})
