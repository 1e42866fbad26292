import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { v7 as uuid } from 'uuid'
import type { SmtpLimits } from '#lib/receiving/smtp/limits.ts'
import { newReceiver } from '#test/support/receiving.ts'
import { connectClient, openClient } from '#test/support/smtp/smtp_client.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { addDomain, openWorld } from '#test/support/world.ts'
import { startSmtp } from '#workers/smtp.ts'

const world = await openWorld(t, { SMTP_PORT: '0', SMTP_GREETING_DELAY_MS: '0', SERVER_DOMAIN: 'mx.mailbrook.test' })
const account = await newReceiver(world)
const ours = account.domain
const { port } = await start(t)

const relayForms = [
  'u@foreign.com',
  'u%foreign.com',
  `u%foreign.com@${ours}`,
  `u%foreign.com%other.com@${ours}`,
  `foreign.com!u@${ours}`,
  `foreign.com!u%other.com@${ours}`,
  `"u@foreign.com"@${ours}`,
  `"u%foreign.com"@${ours}`,
  `"foreign.com!u"@${ours}`,
  `u@foreign.com@${ours}`,
  `u@${ours}@foreign.com`,
  '@a.com,@b.com:u@foreign.com',
  `@${ours}:u@foreign.com`,
  `@${ours},@b.com:u%foreign.com@${ours}`,
  'u@[127.0.0.1]',
  'u@[IPv6:::1]',
  'u@127.0.0.1',
  'u@localhost',
  'u@mx.mailbrook.test',
  'u@mailbrook.test',
  `u@sub.${ours}`,
  `u@${ours}.`,
  `u@.${ours}`,
  `u@${ours}.foreign.com`,
  `u@foreign${ours}`,
  `u@${ours}:25`,
  `u @${ours}`,
  'foreign.com!u',
  'u',
  'postmaster@foreign.com',
  'postmaster@mailbrook.test',
  'postmasters',
  '',
  `"u@foreign.com"@${ours}`,
  `"u%foreign.com"@${ours}`,
  `"foreign.com!u"@${ours}`,
  `"u\\@foreign.com"@${ours}`,
  `"u" @${ours}`,
  `"u"x@${ours}`,
  `"u"."v"@${ours}`,
  `"u@${ours}`,
  `"u\x07"@${ours}`,
  `"u\u200b"@${ours}`,
  `"u> <v"@${ours}`.replace('u> ', 'u>@foreign.com '),
  `u\u202e@${ours}`,
  `u\u3000@${ours}`,
  `${'ü'.repeat(33)}@${ours}`,
  `@${ours}`,
  `${'a'.repeat(65)}@${ours}`,
  `u@${ours}\0.com`,
]

t.test('foreign addresses are refused in any form (no open relay)', async t => {
  for (const form of relayForms) {
    const client = await openClient(t, port)
    await client.command('MAIL FROM:<a@y.com>')
    t.match(await client.command(`RCPT TO:<${form}>`), /^(550 5\.7\.1|501 5\.1\.3) /, form)
    t.match(await client.command('DATA'), /^503 /)
    client.socket.destroy()
  }
  t.ok(relayForms.length >= 30)
})

t.test('senders with irregular and regular addresses are accepted', async t => {
  const client = await openClient(t, port)
  for (const from of [
    'a..b@y.ne.jp',
    'user.@y.ne.jp',
    '"a..b"@y.ne.jp',
    'app@web_1.y.com',
    'root@[192.0.2.1]',
    'a@y',
    'a@xn--bcher-kva.de',
    'jürgen@xn--bcher-kva.de',
  ]) {
    t.match(await client.send(`u@${ours}`, `Subject: from ${from}\r\n\r\nx`, from), /^250 /, from)
    const { rows } = await world.pool.pg.query('SELECT mail_from FROM received_emails ORDER BY id DESC LIMIT 1')
    t.equal(rows[0].mail_from, from)
  }
  for (const from of ['a@b@c.com', 'a', '@y.com', 'a\0@y.com']) {
    t.match(await client.command(`MAIL FROM:<${from}>`), /^501 5\.1\.7 /, from)
  }
})

t.test('mail is accepted for verified receiving domains, and for postmaster', async t => {
  const remember_ms = 20
  const { port } = await start(t, { remember_ms })
  const client = await openClient(t, port)
  await client.command('MAIL FROM:<>')
  for (const local of ['postmaster', 'PostMaster', `${'a'.repeat(64)}`, 'A.b+c=d/e', "o'neil"]) {
    t.match(await client.command(`RCPT TO:<${local}@${ours}>`), /^250 /, local)
  }
  t.match(await client.command(`RCPT TO:<@a.com,@b.com:u@${ours.toUpperCase()}>`), /^250 /, 'the route is ignored')
  const name = `${uuid().slice(-12)}.com`
  const domain = { account_id: account.id, id: uuid(), name }
  await addDomain(world.pool, world.secrets, { ...domain, status: 'pending' })
  const set = (column: string, value: unknown) =>
    world.pool.pg.query(`UPDATE domains SET ${column} = $1 WHERE id = $2`, [value, domain.id])
  await set('receiving', true)
  t.match(await client.command(`RCPT TO:<a@${name}>`), /^550 5\.7\.1 /, 'not verified')
  await set('status', 'verified')
  t.match(await client.command(`RCPT TO:<a@${name}>`), /^250 /)
  await set('receiving', false)
  await sleep(remember_ms)
  t.match(await client.command(`RCPT TO:<b@${name}>`), /^550 5\.7\.1 /, 'does not receive')
  await set('receiving', true)
})

t.test('port 25 offers no AUTH, and STARTTLS only with a certificate', async t => {
  const client = await connectClient(t, port)
  await client.reply()
  t.notMatch(await client.command('EHLO client.test'), /AUTH|STARTTLS|XCLIENT|XFORWARD/)
  for (const command of ['AUTH PLAIN AHgAeA==', 'STARTTLS', 'WIZ x', 'XCLIENT ADDR=1.2.3.4', 'KILL']) {
    t.match(await client.command(command), /^500 /, command)
  }
})

t.test('a message over the size limit is refused, announced or not', async t => {
  const { port } = await start(t, { size: 100_000 })
  const client = await openClient(t, port)
  t.match(await client.command('MAIL FROM:<a@y.com> SIZE=100001'), /^552 5\.3\.4 /)
  t.match(await client.send(`a@${ours}`, `x: y\r\n\r\n${'z'.repeat(100_000)}`), /^552 5\.3\.4 /)
  t.match(await client.send(`a@${ours}`, `x: y\r\n\r\n${'z\n'.repeat(40_000)}`), /^552 5\.3\.4 /, 'once it is mended')
  t.match(await client.send(`a@${ours}`, `x: y\r\n\r\n${'z'.repeat(90_000)}`), /^250 /)
})

t.test('endless headers and mail loops are refused', async t => {
  const client = await openClient(t, port)
  const hop = (n: number) => `Received: from a by b;\r\n id ${n}\r\n`
  const hops = (count: number) => Array.from({ length: count }, (_, n) => hop(n)).join('')
  const cases: [string, RegExp][] = [
    ['X-Header: of very many\r\n'.repeat(20_000), /^554 5\.6\.0 /],
    [`X-Header: ${'long '.repeat(250_000)}\r\n`, /^552 5\.3\.4 /],
    [hops(51), /^554 5\.4\.6 /],
    [hops(51).replaceAll('Received', 'RECEIVED').replaceAll('\r\n', '\n'), /^554 5\.4\.6 /],
    [hops(50), /^250 /],
    [`X: y\r\n\r\n${hops(51)}`, /^250 /],
  ]
  for (const [raw, reply] of cases) t.match(await client.send(`a@${ours}`, `${raw}\r\nHello`), reply, raw.slice(0, 30))
})

t.test('the 101st recipient of a message is deferred', async t => {
  const client = await openClient(t, port)
  await client.command('MAIL FROM:<a@y.com>')
  for (let n = 0; n < 100; n++) await client.command(`RCPT TO:<p${n}@${ours}>`)
  t.match(await client.command(`RCPT TO:<p100@${ours}>`), /^452 4\.5\.3 /)
})

t.test('connections are limited in total and per address', async t => {
  const limited = await start(t, { connections: 3, connections_per_address: 2 })
  const clients = [await openClient(t, limited.port), await openClient(t, limited.port)]
  const refused = await connectClient(t, limited.port)
  t.match(await refused.reply(), /^421 4\.3\.2 .* from your address/)
  await refused.ended()
  const elsewhere = await connectClient(t, limited.port, '127.0.0.2')
  t.match(await elsewhere.reply(), /^220 /)
  const fourth = await connectClient(t, limited.port, '127.0.0.3')
  t.match(await fourth.reply(), /^421 4\.3\.2 .* too many connections$/)
  for (const client of [...clients, elsewhere]) client.socket.destroy()
  const greets = async () => (await (await connectClient(t, limited.port)).reply()).startsWith('220')
  await waitUntil(greets, 'there is room again')
})

t.test('500 idle connections do not keep others out', async t => {
  const { port } = await start(t, { connections: 200, connections_per_address: 20, spare_ms: 500 })
  const idle = Array.from({ length: 500 }, (_, n) => connectClient(t, port, `127.0.1.${1 + (n % 25)}`))
  await Promise.allSettled(idle)
  const refused = new Set<number>()
  for (let n = 0; n < 40; n++) {
    const isStored = async () => {
      const client = await connectClient(t, port)
      if (!(await client.reply()).startsWith('220')) return !refused.add(n)
      await client.command('EHLO client.test')
      const reply = await client.send(`good@${ours}`, `n: ${n}\r\n\r\n`)
      client.write('QUIT\r\n')
      return reply.startsWith('250 2.0.0 Stored')
    }
    await waitUntil(isStored, 'a client that sends gets in')
  }
  t.ok(refused.size <= 2, `${refused.size} clients were refused before idle ones had to make room`)
})

t.test('a client that talks before the greeting is refused', async t => {
  const { port } = await start(t, { greeting_delay_ms: 150 })
  const early = await connectClient(t, port)
  early.write('EHLO client.test\r\n')
  t.match(await early.reply(), /^421 .*too soon/)
  const start_at = performance.now()
  const patient = await connectClient(t, port)
  t.match(await patient.reply(), /^220 mailbrook\.test ESMTP/)
  t.ok(performance.now() - start_at > 140) // the delay is the promise, and a busy machine only adds to it
})

t.test('commands and errors per session are limited', async t => {
  const limited = await start(t, { commands: 50, errors: 5 })
  const flood = await openClient(t, limited.port)
  flood.write('RSET\r\n'.repeat(100))
  await flood.ended()
  t.equal(flood.heard.match(/^250 .*Flushed/gm)?.length, 49)
  t.match(flood.heard, /421 4\.7\.0 Too many commands\r\n$/)
  const wrong = await openClient(t, limited.port)
  await wrong.command('MAIL FROM:<a@y.com>')
  for (let n = 0; n < 5; n++) t.match(await wrong.command(`RCPT TO:<a${n}@foreign.com>`), /^550 /)
  t.match(await wrong.reply(), /^421 4\.7\.0 Too many errors/)
  await wrong.ended()
})

t.test('sessions are limited in time, even if data trickles in', async t => {
  const dribble = async (limits: Partial<SmtpLimits>, begin: boolean, ms: number, said: RegExp) => {
    const { port } = await start(t, limits)
    const since = performance.now() // the time of a session begins before its greeting; a busy machine only adds to it
    const client = await openClient(t, port)
    if (begin) await client.begin(`a@${ours}`)
    const timer = setInterval(() => client.write('x'), 20)
    await waitUntil(() => client.socket.closed, 'the session is ended').finally(() => clearInterval(timer))
    t.match(client.heard, said)
    const took = performance.now() - since
    t.ok(took > ms / 2, `${took} ms`)
  }
  await Promise.all([
    dribble({ command_ms: 300 }, false, 300, /421 4\.4\.2 No command in time\r\n$/),
    dribble({ session_ms: 300 }, false, 300, /421 4\.4\.2 The session has lasted too long\r\n$/),
    dribble({ data_ms: 400, data_rate: 0 }, true, 400, /421 4\.4\.2 The message arrives too slowly\r\n$/),
    dribble({ data_grace_ms: 300 }, true, 600, /421 4\.4\.2 The message arrives too slowly\r\n$/),
  ])
  t.strictSame((await world.pool.pg.query("SELECT FROM received_emails WHERE client ->> 'helo' = 'slow'")).rows, [])
})

t.test('an expired session may finish its message', async t => {
  const { port } = await start(t, { session_ms: 1_000 })
  const client = await openClient(t, port)
  await client.begin(`a@${ours}`)
  client.write('x: y\r\n\r\n')
  await sleep(1_100)
  client.write('.\r\n')
  t.match(await client.reply(), /^250 /)
  t.match(await client.reply(), /^421 /)
})

t.test('a client that disconnects during its message leaves nothing', async t => {
  const client = await openClient(t, port)
  await client.begin(`gone@${ours}`)
  client.write('x: y\r\n\r\nHello\r\n')
  client.socket.end()
  await client.ended()
  const other = await openClient(t, port)
  await other.send(`a@${ours}`, 'x: y\r\n\r\n')
  const { rows } = await world.pool.pg.query('SELECT FROM received_emails WHERE $1 = ANY (received_for)', [
    `gone@${ours}`,
  ])
  t.strictSame(rows, [])
})

t.test('stop lets messages in progress finish and sends 421 to other clients', async t => {
  const smtp = await startSmtp(world)
  const [idle, busy] = [await openClient(t, smtp.port), await openClient(t, smtp.port)]
  await busy.begin(`a@${ours}`)
  busy.write('x: y\r\n\r\n')
  const stopped = smtp.stop()
  t.match(await idle.reply(), /^421 4\.3\.2 /)
  busy.write('.\r\n')
  t.match(await busy.reply(), /^250 /)
  t.match(await busy.command('NOOP'), /^421 /)
  await stopped
})

t.test('a taken port is named in the error', async t => {
  const config = { ...world.config, SMTP_PORT: port }
  await t.rejects(startSmtp({ ...world, config }), { message: `Port ${port} is taken; set SMTP_PORT to another.` })
})

async function start(t: Test, limits: Partial<SmtpLimits> = {}) {
  const smtp = await startSmtp(world, limits)
  t.teardown(() => smtp.stop())
  return smtp
}
