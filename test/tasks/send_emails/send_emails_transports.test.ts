import t, { type Test } from 'tap'
import { setDomainTransport } from '#sql/domains/domains.ts'
import { findPlatform, setTransportFault } from '#sql/safety/platform.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'
import { domainCommands } from '#workers/admin/domains.ts'

const world = await openWorld(t)
const { pg } = world.pool

t.test('a relay that is down is skipped, and used again once it is up', async t => {
  const account = await newAccount(world)
  const first = await openSink(t)
  const second = await openSink(t)
  await first.close()
  const work = openWork(t, world, `${first.url}, ${second.url}`)
  shows(t, await send(work, account), { status: 'delivered', events: [{ type: 'sent' }, { via: 'relay' }] })
  t.equal(second.messages, 1)

  const again = await openSink(t, { port: first.port })
  shows(t, await send(work, account), { status: 'delivered' })
  t.strictSame([again.messages, second.messages], [1, 1])
})

t.test('a relay that is busy or rejects our password is skipped, and emails are still accepted', async t => {
  const account = await newAccount(world)
  const busy = await openSink(t, { greeting: '421 4.3.2 Busy' })
  const strict = await openStrict(t)
  const last = await startInbox(t)
  const work = openWork(t, world, [busy.url, strict.replace('//', '//ann:wrong@'), last.url].join(','))
  for (let i = 0; i < 2; i++) shows(t, await send(work, account), { status: 'delivered' })
  t.equal(last.messages.length, 2)
  t.match(await findPlatform(world.pool), { is_transport_unusable: false })
})

t.test('emails are accepted while one relay rejects our password and the other is down', async t => {
  const account = await newAccount(world)
  const [strict, down] = [await openStrict(t), await openSink(t)]
  await down.close()
  const work = openWork(t, world, [strict.replace('//', '//ann:wrong@'), down.url].join(','))
  const reason = /Invalid login: 535 .*ECONNREFUSED/
  for (let i = 0; i < 2; i++) shows(t, await send(work, account), { queue: [{ state: 'queued', attempts: 1, reason }] })
  t.match(await findPlatform(world.pool), { is_transport_unusable: false })
})

t.test('no email is accepted while all relays reject our password', async t => {
  const account = await newAccount(world)
  const captured = await newAccount(world)
  await setDomainTransport(world.pool, ofDomain(captured), 'capture')
  const strict = await openStrict(t)
  const urls = ['one', 'two'].map(password => strict.replace('//', `//ann:${password}@`))
  const reason = /^No connection to .* Invalid login: 535 .* No connection to .* Invalid login: 535 /
  const id = await acceptEmail(world, account)
  const work = openWork(t, world, urls.join(','))
  await deliverEmails(work, [id])
  shows(t, await readEmail(world, account, id), { queue: [{ state: 'queued', attempts: 1, reason }] })
  // Transport faults are written asynchronously.
  await waitUntil(async () => (await findPlatform(world.pool)).is_transport_unusable, 'the fault is noted')
  await t.rejects(acceptEmail(world, account), { name: 'sending_configuration_unavailable' })
  await t.resolves(acceptEmail(world, captured), 'mail of domains with another transport is accepted')
  await setTransportFault(world.pool, null)
})

t.test('a relay that fails during a message is skipped, but not after the final dot', async t => {
  const account = await newAccount(world)
  const first = await openSink(t)
  const second = await startInbox(t)
  const work = openWork(t, world, `${first.url},${second.url}`)
  const html = '<i>é</i>\n'.repeat(200_000)
  shows(t, await send(work, account, { to: 'drop-mid-body@y.com', html }), { status: 'delivered' })
  t.equal(second.messages.length, 1)

  shows(t, await send(work, account, { to: 'drop-post-dot@y.com' }), { queue: [{ state: 'in_doubt' }] })
  t.equal(first.messages, 1)
  t.equal(second.messages.length, 1, 'otherwise a recipient might get it twice')
})

t.test('a relay that takes no mail from us is skipped', async t => {
  const account = await newAccount(world)
  const second = await startInbox(t)
  const refusals = ['451 4.3.0 Try later', '421 4.7.0 Too many messages', '530 5.7.0 Authentication required']
  for (const mail of refusals) {
    const first = await openSink(t, { mail })
    const work = openWork(t, world, `${first.url},${second.url}`)
    shows(t, await send(work, account, { to: 'ok@y.com' }), { status: 'delivered' }, mail)
    t.equal(first.messages, 0)
  }
  const closing = await openSink(t)
  const work = openWork(t, world, `${closing.url},${second.url}`)
  for (const local of ['421', 'reply-530-5.7.0', 'reply-503-5.5.1']) {
    shows(t, await send(work, account, { to: `${local}@y.com` }), { status: 'delivered' }, `${local} at RCPT`)
  }
  t.equal(second.messages.length, refusals.length + 3)
})

t.test('a reply of a relay about the message is final, and no other relay is tried', async t => {
  const account = await newAccount(world)
  const first = await openSink(t)
  const second = await openSink(t)
  const work = openWork(t, world, `${first.url},${second.url}`)
  for (const [local, status] of [
    ['tmp-451', 'delivery_delayed'],
    ['perm-550-5.1.1', 'bounced'],
    ['data-554-5.7.1', 'failed'],
  ] as const) {
    t.match(await send(work, account, { to: `${local}@y.com` }), { status }, local)
  }
  t.equal(second.connections, 0)
})

t.test('the operator sets the transport of a domain', async t => {
  const [usual, relayed, taken] = [await newAccount(world), await newAccount(world), await newAccount(world)]
  const inbox = await startInbox(t)
  const config = { ...world.config, RELAY_URL: inbox.url }
  const work = openWork(t, { ...world, config }, 'capture')
  t.equal(await command(relayed, 'relay'), 'relay')
  const via = async (account: TestAccount) => (await send(work, account)).events.at(-1)?.via
  t.equal(await via(usual), 'capture')
  t.equal(await via(relayed), 'relay')
  t.equal(inbox.messages.length, 1)

  const other = openWork(t, { ...world, config }, 'relay')
  await command(taken, 'capture')
  shows(t, (await send(other, taken)).events, [{ type: 'sent' }, { via: 'capture' }])
  await command(taken, 'default')
  shows(t, (await send(other, taken)).events, [{ type: 'sent' }, { via: 'relay' }])
  await t.rejects(command(taken, 'pigeon'), { message: 'Which transport? capture, relay, direct or default.' })
})

t.test('a domain whose relay is not configured defers only its own emails', async t => {
  const [asking, usual] = [await newAccount(world), await newAccount(world)]
  await command(asking, 'relay')
  const work = openWork(t, world, 'capture')
  const reason = 'Its domain asks for a relay, and this server has none: RELAY_URL is not set.'
  shows(t, await send(work, asking), {
    status: 'delivery_delayed',
    events: [{ type: 'delivery_delayed', class: 'infrastructure', reason }],
    queue: [{ state: 'queued', reason }],
  })
  await t.rejects(acceptEmail(world, asking), { name: 'sending_configuration_unavailable' })
  shows(t, await send(work, usual), { status: 'delivered' })
  await command(asking, 'default')
  shows(t, await send(work, asking), { status: 'delivered' }, 'at once when it is changed')
})

t.test('tls=enforced waits for a relay with TLS', async t => {
  const account = await newAccount(world)
  await pg.query(`UPDATE domains SET tls = 'enforced' WHERE id = $1`, [account.domain_id])
  const plain = await startInbox(t)
  const safe = await startInbox(t, { starttls: true })
  const trusted = `${safe.url}?tls.rejectUnauthorized=false`
  shows(t, await send(openWork(t, world, plain.url), account), {
    status: 'delivery_delayed',
    queue: [{ state: 'queued', reason: /^No connection to / }],
  })
  await t.resolves(acceptEmail(world, account), 'a missing relay of one domain is not a fault of the configuration')
  shows(t, await send(openWork(t, world, `${plain.url}?ignoreTLS=true,${trusted}`), account), { status: 'delivered' })
  t.strictSame([plain.messages.length, safe.messages.length], [0, 1])

  const other = await newAccount(world)
  shows(t, await send(openWork(t, world, `${plain.url}?ignoreTLS=true,${trusted}`), other), { status: 'delivered' })
  t.equal(plain.messages.length, 1, 'other mail still goes to the first relay')
})

/** A relay that rejects every login. */
async function openStrict(t: Test): Promise<string> {
  const onAuth = (_auth: unknown, _session: unknown, callback: (error: Error) => void) =>
    callback(Object.assign(new Error('Invalid credentials'), { responseCode: 535 }))
  const inbox = await startInbox(t, {
    authOptional: false,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth,
  })
  return inbox.url
}

type Work = ReturnType<typeof openWork>

async function send(work: Work, account: TestAccount, fields: Record<string, unknown> = {}) {
  const id = await acceptEmail(world, account, fields)
  await deliverEmails(work, [id])
  return readEmail(world, account, id)
}

async function command(account: TestAccount, kind: string): Promise<string> {
  const printed = t.capture(console, 'log')
  try {
    await domainCommands['domain transport']?.run(world, { account: account.id }, [account.domain, kind])
  } finally {
    printed.restore()
  }
  return String(printed.args()[0])
}

function ofDomain(account: TestAccount) {
  return { account_id: account.id, id: account.domain_id }
}
