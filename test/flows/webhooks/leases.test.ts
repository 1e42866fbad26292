import t from 'tap'
import { newId } from '#lib/ids.ts'
import { createPool, type Pool, type Queryable } from '#sql/pool.ts'
import { listDueEvents } from '#sql/webhooks/due_events.ts'
import { claimWebhooks, extendWebhookLeases, releaseWebhooks } from '#sql/webhooks/leases.ts'
import { startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { ALLOWED } from '#test/support/http/fetching.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import {
  addEndpoint,
  announce,
  countDeliveries,
  listAttempts,
  readWebhook,
  startSender,
} from '#test/support/webhooks/announced_events.ts'
import { HOOK_TIMES, startHook } from '#test/support/webhooks/webhook_receiver.ts'
import { openWorld } from '#test/support/world.ts'

const hook = await startHook(t)
const world = await openWorld(t, { FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(hook.port) })

const subscribe = (name: string) => addEndpoint(world, hook, name)

t.test('webhooks with due events are leased once, least recently served first', async t => {
  const lease = { owner: newId(), seconds: 60 }
  const names = ['late', 'early', 'never', 'arrived', 'later', 'resting', 'disabled', 'leased']
  const subscribed = await Promise.all(names.map(subscribe))
  for (const { account_id } of subscribed) await announce(world, account_id, 3)
  const ids = new Map(names.map((name, n) => [name, subscribed[n]?.id]))
  const change = (name: string, what: string) =>
    world.pool.pg.query(`UPDATE webhooks SET ${what} WHERE id = $1`, [ids.get(name)])
  const move = (name: string, what: string) =>
    world.pool.pg.query(`UPDATE webhook_deliveries SET ${what} WHERE webhook_id = $1`, [ids.get(name)])
  await change('late', `lease_until = now() - interval '1 s'`)
  await change('early', `lease_until = now() - interval '1 min'`)
  await move('arrived', `state = 'success', next_at = NULL`)
  await move('later', `next_at = now() + interval '1 min'`)
  await change('resting', `rest_until = now() + interval '1 min'`)
  await change('disabled', `status = 'disabled', disabled_reason = 'manual'`)
  await change('leased', `lease_until = now() + interval '1 min'`)

  const all = subscribed.map(({ account_id, id }) => ({ account_id, id: Number(id) }))
  const claim = async (limit: number, given: typeof all | null) => {
    const claimed = await claimWebhooks(world.pool, lease, { sound: limit, failing: 0 }, given)
    return claimed.map(({ id }) => names.find(name => ids.get(name) === String(id)))
  }
  t.strictSame(await claim(1, [...all, ...all]), ['never'])
  t.strictSame(await claim(1, null), ['early'])
  t.strictSame(await claim(10, all.slice(1)), [])
  t.strictSame(await claim(10, null), ['late'])
  t.strictSame(await claim(10, null), [])
})

t.test('a lease belongs to one worker until it expires', async t => {
  const { account_id, id } = await subscribe('owned')
  await announce(world, account_id, 1)
  const webhook = { account_id, id: Number(id) }
  const [owner, other] = [newId(), newId()]
  const claim = (owner: string, db: Queryable) =>
    claimWebhooks(db, { owner, seconds: 60 }, { sound: 1, failing: 0 }, [webhook])
  const extend = (owner: string) => extendWebhookLeases(world.pool, { owner, seconds: 600 }, [webhook])
  const read = async (owner: string) =>
    (await listDueEvents(world.pool, owner, [{ account_id, webhook_id: webhook.id, held: [], limit: 1 }])).length
  const readLease = async () => {
    const query = `
      SELECT lease_owner AS owner, lease_until < now() AS is_over, lease_until > now() + interval '60 s' AS is_extended
      FROM webhooks WHERE id = $1`
    return (await world.pool.pg.query(query, [id])).rows
  }

  const claiming = await begin(world, tx => claim(owner, tx))
  const second = claim(other, world.pool)
  await Promise.race([second, untilBlocked(world)])
  await claiming.commit()
  t.strictSame(await second, [])

  t.strictSame([await read(owner), await read(other)], [1, 0])
  await extend(other)
  await releaseWebhooks(world.pool, other, [webhook])
  t.strictSame(await readLease(), [{ owner, is_over: false, is_extended: false }])
  await extend(owner)
  t.strictSame(await readLease(), [{ owner, is_over: false, is_extended: true }])

  await world.pool.pg.query(`UPDATE webhooks SET lease_until = now() - interval '5 s' WHERE id = $1`, [id])
  t.equal(await read(owner), 0)
  await extend(owner)
  t.strictSame(await readLease(), [{ owner, is_over: true, is_extended: false }])
  await world.pool.pg.query('DELETE FROM webhook_events WHERE account_id = $1', [account_id]) // the workers of other tests would send it
})

t.test('failing webhooks never take the places of healthy ones', async t => {
  // Requests that hang do so until the end of the test.
  const times = { ...HOOK_TIMES, attempt_ms: 60_000, drain_ms: 100 }
  const begins = await subscribe('begins')
  const failed = await Promise.all([1, 2, 3].map(n => subscribe(`failed${n}`)))
  const healthy = await subscribe('healthy')
  hook.answer(({ path }, response) => {
    if (path.endsWith('healthy')) response.end()
    else if (path.endsWith('begins') && begins.posted().length === 1) response.writeHead(500).end()
  })
  startSender(t, world, times, { sound: 1, failing: 2, silent: 0, silent_ms: 0 })
  await announce(world, begins.account_id, 2)
  await waitUntil(async () => begins.posted().length === 2, 'a failure, and one that hangs')
  await world.pool.pg.query('UPDATE webhooks SET failure_count = 1 WHERE id = ANY($1)', [failed.map(({ id }) => id)])
  for (const { account_id } of failed) await announce(world, account_id, 2)
  const reached = () => failed.filter(({ posted }) => posted().length > 0).length
  await waitUntil(async () => reached() === 1, 'the other place of those that fail')
  for (let n = 1; n <= 3; n++) {
    await announce(world, healthy.account_id, 1)
    await waitUntil(async () => (await countDeliveries(world, healthy.id)).success === n, 'the healthy one')
  }
  t.equal(reached(), 1)
})

t.test('endpoints that hang at the same moment do not block others', async t => {
  // They hang until the end of the test and have not failed before.
  const times = { ...HOOK_TIMES, attempt_ms: 60_000, drain_ms: 100 }
  const hanging = await Promise.all(Array.from({ length: 24 }, (_, n) => subscribe(`hanging${n}`)))
  const healthy = await subscribe('sound')
  hook.answer(({ path }, response) => {
    if (path.endsWith('sound')) response.end()
  })
  for (const { account_id } of hanging) await announce(world, account_id, 2)
  const sender = startSender(t, world, times, { sound: 8, failing: 1, silent: 24, silent_ms: 50 })
  await waitUntil(() => hanging.filter(({ posted }) => posted().length > 0).length >= 8, 'all places to be taken')
  await announce(world, healthy.account_id, 1)
  await waitUntil(async () => (await countDeliveries(world, healthy.id)).success === 1, 'the healthy one')
  await waitUntil(() => hanging.every(({ posted }) => posted().length === 2), 'each of the others to be tried')
  await sender.stop()
})

t.test('slow webhooks give their places to waiting ones', async t => {
  const slow = [await subscribe('slow1'), await subscribe('slow2')]
  const waits = await subscribe('waits')
  hook.answer(({ path }, response) => void setTimeout(() => response.end(), path.endsWith('waits') ? 0 : 20))
  for (const { account_id } of slow) await announce(world, account_id, 150)
  startSender(t, world, { ...HOOK_TIMES, turn_ms: 50 }, { sound: 2, failing: 1, silent: 0, silent_ms: 0 })
  await waitUntil(() => slow.every(({ posted }) => posted().length > 0), 'both places to be taken')
  await announce(world, waits.account_id, 1)
  await waitUntil(() => waits.posted().length === 1, 'the one that waits')
  for (const { posted } of slow) t.ok(posted().length < 150, `${posted().length} were sent before`)
  hook.answer(200)
  for (const { id, posted } of slow) {
    await waitUntil(async () => (await countDeliveries(world, id)).success === 150, 'the rest of it')
    t.equal(posted().length, 150, 'each once')
  }
})

t.test('a lease left by an error expires while the worker is busy', async t => {
  const sender = startSender(t, world, { ...HOOK_TIMES, lease_seconds: 0.5, heartbeat_ms: 100, attempt_ms: 10_000 })
  const busy = await subscribe('busy')
  const broken = await subscribe('broken')
  const { rows } = await world.pool.pg.query('SELECT signing_secret FROM webhooks WHERE id = $1', [broken.id])
  const keep = (secret: Buffer) =>
    world.pool.pg.query('UPDATE webhooks SET signing_secret = $1 WHERE id = $2', [secret, broken.id])
  await keep(Buffer.from('nothing that opens'))
  const answers: (() => void)[] = []
  hook.answer(({ path }, response) => {
    if (path.endsWith('busy')) answers.push(() => response.end())
    else response.end()
  })
  await announce(world, busy.account_id, 1)
  await announce(world, broken.account_id, 1)
  await waitUntil(async () => (await readWebhook(world, broken.id)).lease_owner !== null, 'a lease')
  await keep(rows[0].signing_secret)
  await waitUntil(async () => (await countDeliveries(world, broken.id)).success === 1, 'the event')
  t.equal(busy.posted().length, 1, 'whose own lease was extended')
  for (const answer of answers) answer()
  await sender.idle()
})

t.test('events announced during the release of a lease are sent', async t => {
  // The release returns late: by then the job of the next event has claimed the webhook again.
  const released = Promise.withResolvers<void>()
  let releases = 0
  const pool: Pool = {
    ...world.pool,
    run: async statement => {
      const count = await world.pool.run(statement)
      if (statement.sql.includes('lease_owner = NULL') && ++releases === 1) await released.promise
      return count
    },
  }
  const sender = startSender(t, { ...world, pool }, { ...HOOK_TIMES, lease_seconds: 60, poll_ms: 60_000 })
  const { account_id, id } = await subscribe('again')
  hook.answer(200)
  const offer = () => sender.offer([{ account_id, id: Number(id) }])
  await announce(world, account_id, 1)
  await offer()
  await waitUntil(() => releases === 1, 'the release')
  await announce(world, account_id, 1)
  await offer()
  released.resolve()
  await waitUntil(async () => (await countDeliveries(world, id)).success === 2, 'the second event')
  await sender.idle()
  t.equal((await readWebhook(world, id)).lease_owner, null)
})

t.test('a stop waits for responses, and another worker continues at once', async t => {
  const times = { ...HOOK_TIMES, lease_seconds: 60 }
  const first = startSender(t, world, times)
  const { account_id, id, posted } = await subscribe('stop')
  hook.answer((_, response) => setTimeout(() => response.end(), 50))
  await announce(world, account_id, 100)
  await waitUntil(() => posted().length >= 4, 'some')
  await first.stop()
  const before = posted().length
  t.strictSame(await countDeliveries(world, id), { success: before, pending: 100 - before })
  t.match(await readWebhook(world, id), { lease_owner: null, failure_count: 0 })
  hook.answer(200)
  startSender(t, world, times)
  await waitUntil(async () => (await countDeliveries(world, id)).success === 100, 'the others')
  t.equal(posted().length, 100, 'none of them twice')
})

t.test('a stop aborts a request that exceeds the drain, without an attempt', async t => {
  const times = { ...HOOK_TIMES, lease_seconds: 60, attempt_ms: 60_000, drain_ms: 100 }
  const first = startSender(t, world, times)
  const { account_id, id, posted } = await subscribe('slow')
  hook.answer(() => {})
  await announce(world, account_id, 1)
  await waitUntil(() => posted().length === 1, 'it')
  await first.stop()
  t.match(await readWebhook(world, id), { lease_owner: null, failure_count: 0 })
  hook.answer(200)
  startSender(t, world, times)
  await waitUntil(async () => (await countDeliveries(world, id)).success === 1, 'it again')
  t.equal(posted().length, 2)
})

t.test('no event is lost or counted twice while the database is away', async t => {
  const proxy = await startPgProxy(world.config.DATABASE_URL ?? '')
  const pool = createPool(proxy.url)
  t.teardown(() => Promise.all([pool.end(), proxy.close()]))
  const times = { ...HOOK_TIMES, lease_seconds: 60, retry_seconds: Array(6).fill(3_600) }
  const sender = startSender(t, { ...world, pool }, times)
  const { account_id, id, posted } = await subscribe('away')
  hook.answer(500)
  const cut = proxy.cutReply('settle_webhooks')
  await announce(world, account_id, 1)
  await cut
  await sender.idle()
  t.match(await readWebhook(world, id), { failure_count: 1, lease_owner: null })
  shows(t, await listAttempts(world, id), [{ status: 500, attempt: 1 }])

  hook.answer((_, response) => void setTimeout(() => response.end(), 10))
  await announce(world, account_id, 150)
  await waitUntil(() => posted().length > 20, 'some')
  proxy.refuse(true)
  proxy.cut()
  setTimeout(() => proxy.refuse(false), 300)
  await waitUntil(async () => (await countDeliveries(world, id)).success === 150, 'all, long before the lease runs out')
  t.equal(posted().length, 151, 'each once')
})

t.test('large events are read a few at a time, and all are sent', async t => {
  const { account_id, id, posted } = await subscribe('large')
  hook.answer(200)
  await announce(world, account_id, 6, { text: 'x'.repeat(300_000) })
  await announce(world, account_id, 2, { text: 'x'.repeat(2_000_000) })
  const owner = account_id
  const webhook = { account_id, id: Number(id) }
  t.equal((await claimWebhooks(world.pool, { owner, seconds: 60 }, { sound: 1, failing: 0 }, [webhook])).length, 1)
  const held: string[] = []
  for (const count of [4, 3, 1, 0]) {
    const request = { account_id, webhook_id: webhook.id, held, limit: 50 }
    const found = await listDueEvents(world.pool, owner, [request])
    t.equal(found.length, count)
    held.push(...found.map(({ event_id }) => event_id))
  }
  await releaseWebhooks(world.pool, owner, [webhook])
  const sender = startSender(t, world, HOOK_TIMES)
  await waitUntil(async () => (await countDeliveries(world, id)).success === 8, 'all of them')
  await sender.idle()
  t.equal(posted().length, 8)
})
