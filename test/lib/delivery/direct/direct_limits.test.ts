import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { publishMx } from '#test/support/dns/mail_hosts.ts'
import { shows } from '#test/support/shows.ts'
import { openDirect } from '#test/support/smtp/direct.ts'

const world = await openDirect(t)
const { zone, hosts, send } = world
const many = (count: number) => Array.from({ length: count }, (_, n) => n)

/** Two domains of one provider, and one of another. */
zone['one.com'] = zone['two.com'] = { MX: ['10 mx.provider.com'] }
zone['mx.provider.com'] = { A: ['127.0.0.64'] }
publishMx(zone, 'other.com', 65)
const provider = await hosts.start(64)
const other = await hosts.start(65)

t.test('a connection is reused for all domains of its host, for 100 messages', async t => {
  const transport = world.transport()
  for (const n of many(110))
    shows(t, await send(transport, `ok@${n % 2 ? 'one' : 'two'}.com`), { outcome: 'delivered' })
  t.equal(provider.connections, 2)
  await send(transport, 'ok@other.com')
  t.equal(other.connections, 1)
})

t.test('an idle connection is closed to make room for another host', async t => {
  const transport = world.transport({ connections: 2 })
  const before = provider.connections
  await Promise.all(many(2).map(() => send(transport, 'ok@one.com')))
  t.equal(provider.connections, before + 2)
  await send(transport, 'ok@other.com')
  await Promise.all(many(2).map(() => send(transport, 'ok@one.com')))
  t.equal(provider.connections, before + 3, 'one of them was closed')
})

t.test('domains with the same provider share a lane', async t => {
  const transport = world.transport()
  const lanes = await Promise.all(['one.com', 'two.com', 'other.com', 'none.com'].map(name => transport.route?.(name)))
  t.strictSame(lanes, [
    { lane: 'provider.com', isShared: true, wait: null },
    { lane: 'provider.com', isShared: true, wait: null },
    { lane: 'other.com', isShared: true, wait: null },
    { lane: 'none.com', isShared: false, wait: null },
  ])
  t.match(transport.share?.('provider.com'), { slots: 4, isProven: false })
  await send(transport, 'perm-550@one.com')
  t.match(transport.share?.('provider.com'), { slots: 5, isProven: true }, 'the server responded, even if it refused')
})

t.test('a provider that asks to slow down gets a pause, and the message loses no attempt', async t => {
  for (const local of ['421', 'reply-450-4.7.0', 'data-421', 'data-452-4.3.2']) {
    const transport = world.transport()
    shows(t, await send(transport, `${local}@one.com`), { outcome: 'deferred' }, local)
    const before = provider.connections
    const wait = { reason: 'provider.com asked us to slow down.', delay: Number }
    shows(t, await send(transport, 'ok@two.com'), { outcome: 'released', ...wait })
    t.match(await transport.route?.('two.com'), { lane: 'provider.com', wait })
    shows(t, await send(transport, 'ok@other.com'), { outcome: 'delivered' })
    t.equal(provider.connections, before)
    transport.close()
  }
  t.match(world.lines.join(''), /a provider asked us to slow down/)
})

t.test('greylisting and a busy mailbox slow down no other recipient', async t => {
  const transport = world.transport()
  for (const local of ['grey-1', 'tmp-451', 'reply-450-4.2.1']) {
    shows(t, await send(transport, `${local}@one.com`), { outcome: 'deferred' })
    shows(t, await send(transport, 'ok@one.com'), { outcome: 'delivered' })
  }
  shows(t, await send(transport, 'grey-1@one.com'), { outcome: 'delivered' })
})

t.test('the rate limit counts all domains of a provider', async t => {
  const transport = world.transport({ limits: { connections: 20, per_minute: 12 } })
  const outcomes = []
  for (const name of ['one', 'two', 'one', 'two']) outcomes.push(await send(transport, `ok@${name}.com`))
  t.strictSame(
    outcomes.map(({ outcome }) => outcome),
    ['delivered', 'delivered', 'released', 'released'],
  )
  t.match(outcomes[2], { delay: Number, reason: /rate limit/ })
  shows(t, await send(transport, 'ok@other.com'), { outcome: 'delivered' })
})

t.test('a message whose first server is down counts once toward the rate', async t => {
  zone['down.com'] = { MX: ['10 mx1.down.com', '20 mx2.down.com'] }
  zone['mx1.down.com'] = { A: ['127.0.0.79'] }
  zone['mx2.down.com'] = { A: ['127.0.0.65'] }
  const transport = world.transport({ limits: { connections: 20, per_minute: 6 } })
  shows(t, await send(transport, 'ok@down.com'), { outcome: 'delivered' })
  shows(t, await send(transport, 'ok@down.com'), { outcome: 'released', reason: /rate limit/ })
})

t.test('abort releases messages in progress, even when DNS is silent', async t => {
  zone['silent.com'] = 'silent'
  publishMx(zone, 'tarpit.com', 71)
  await hosts.start(71, { greeting: 'dribble' })
  for (const domain of ['silent.com', 'tarpit.com']) {
    const stopping = new AbortController()
    const sending = send(world.transport(), `ann@${domain}`, { signal: stopping.signal })
    await sleep(50)
    stopping.abort()
    shows(t, await sending, { outcome: 'released', reason: 'The worker stopped.' }, domain)
  }
  const transport = world.transport()
  const hanging = send(transport, 'hang-post-dot@one.com')
  await provider.arrived(provider.messages + 1)
  transport.close()
  shows(t, await hanging, { outcome: 'in_doubt' })
})

t.test('an error is logged when no server can be reached', async t => {
  const transport = world.transport()
  for (const n of many(5)) {
    publishMx(zone, `gone${n}.com`, 79)
    shows(t, await send(transport, `ann@gone${n}.com`), { outcome: 'deferred', reason: /ECONNREFUSED/ })
  }
  t.match(world.lines.at(-1), /"level":50.*npm run doctor/)
})
