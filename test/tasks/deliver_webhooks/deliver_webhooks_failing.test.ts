import t from 'tap'
import { changeWebhook } from '#flows/webhooks/change_webhook.ts'
import { now } from '#lib/clock.ts'
import { findWebhook, type Webhook } from '#sql/webhooks/webhooks.ts'
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

const atOnce = {
  retry_seconds: Array(6).fill(0.001),
  first_rest_seconds: 0.001,
  longest_rest_seconds: 0.005,
  poll_ms: 10,
}

t.test('the 50th failure in a row disables a webhook for good', async t => {
  for (const _ of [1, 2]) startSender(t, world, { ...HOOK_TIMES, ...atOnce })
  const { account_id, id, posted } = await subscribe('dead')
  hook.answer(500)
  await announce(world, account_id, 60)
  await waitUntil(
    async () => (await readWebhook(world, id)).lease_owner === null && posted().length >= 50,
    '50 failures',
  )
  shows(t, await readWebhook(world, id), {
    status: 'disabled',
    disabled_reason: 'too_many_failures',
    failure_count: 50,
  })
  const { updated_at, last_delivery_at } = (await findWebhook(world.pool, account_id, id)) as Webhook
  t.strictSame(updated_at, last_delivery_at, 'the last failure changed it')
  t.match(await listAttempts(world, id), Array(50).fill({ status: 500, error: 'The endpoint responded with 500.' }))

  hook.answer(200)
  await changeWebhook(world.pool, account_id, id, { status: 'enabled' })
  await announce(world, account_id, 1, { is_new: true })
  await waitUntil(async () => (await countDeliveries(world, id)).success === 1, 'the new event')
  t.equal(posted().length, 51, 'what waited was given up')
  t.match(posted().at(-1), { json: { data: { is_new: true } } })
  t.strictSame(await countDeliveries(world, id), { failed: 60, success: 1 })
})

t.test('a success after 49 failures resets the count', async t => {
  for (const _ of [1, 2]) startSender(t, world, { ...HOOK_TIMES, ...atOnce })
  const { account_id, id, posted } = await subscribe('tired')
  const added = (await findWebhook(world.pool, account_id, id)) as Webhook
  hook.answer((_, response) => void response.writeHead(posted().length < 50 ? 500 : 200).end())
  await announce(world, account_id, 60)
  await waitUntil(async () => (await countDeliveries(world, id)).success === 60, 'all of them')
  shows(t, await readWebhook(world, id), { status: 'enabled', failure_count: 0 })
  t.match(await findWebhook(world.pool, account_id, id), { updated_at: added.updated_at }, 'nobody changed it')
  t.equal((await listAttempts(world, id)).filter(({ status }) => status === 500).length, 49)
})

t.test('endpoints that hang get two concurrent attempts, then rest, and delay no others', async t => {
  const times = { ...HOOK_TIMES, drain_ms: 0, first_rest_seconds: 60, longest_rest_seconds: 60 }
  const open = new Map<string, number>()
  const isOpen = () => [...open.values()].some(count => count > 0)
  let most = 0
  let ended = 0
  /** An event sent twice counts once. */
  const arrived = new Set<string>()
  hook.answer(({ path, json }, response) => {
    open.set(path, (open.get(path) ?? 0) + 1)
    // A moment later, because the closing of the previous request may be noticed after this one.
    setTimeout(() => {
      most = Math.max(most, open.get(path) ?? 0)
    }, 20)
    response.once('close', () => open.set(path, (open.get(path) ?? 0) - 1))
    if (path.includes('hangs')) return void response.once('close', () => ended++)
    arrived.add(json.id)
    response.writeHead(200).end()
  })
  const hanging = await Promise.all(Array.from({ length: 20 }, (_, n) => subscribe(`hangs${n}`)))
  for (const { account_id } of hanging) await announce(world, account_id, 8)
  const healthy = await subscribe('healthy')
  const patient = [1, 2].map(() => startSender(t, world, { ...times, attempt_ms: 100_000 }))
  await waitUntil(() => open.size === 20, 'all hang')
  for (let n = 1; n <= 10; n++) {
    await announce(world, healthy.account_id, 3)
    await waitUntil(() => arrived.size === 3 * n, 'the healthy one')
  }
  t.equal(ended, 0, 'no attempt has ended by then')
  await Promise.all(patient.map(sender => sender.stop()))
  await waitUntil(() => !isOpen(), 'all are given up')
  const senders = [1, 2].map(() => startSender(t, world, { ...times, attempt_ms: 1_500 }))
  const read = () => Promise.all(hanging.map(({ id }) => readWebhook(world, id)))
  await waitUntil(async () => (await read()).every(({ failure_count }) => failure_count >= 5), 'all have failed')
  await Promise.all(senders.map(sender => sender.idle()))
  t.equal(most, 2)
  for (const { failure_count, rests } of await read()) {
    t.ok(failure_count <= 6 && Number(rests) > 50, `${failure_count} failures, ${rests} s`)
  }
})

t.test('an attempt that used up its time counts as hung, another failure does not', async t => {
  startSender(t, world, { ...HOOK_TIMES, attempt_ms: 500, retry_seconds: [60] })
  const endpoints = [await subscribe('hung'), await subscribe('failed')]
  hook.answer(({ path }, response) => {
    if (path.endsWith('failed')) response.writeHead(500).end()
  })
  for (const { account_id } of endpoints) await announce(world, account_id, 1)
  const ids = endpoints.map(({ id }) => id)
  const read = async () =>
    (await world.pool.pg.query('SELECT recent_results FROM webhooks WHERE id = ANY ($1) ORDER BY id', [ids])).rows
  await waitUntil(async () => (await read()).every(row => row.recent_results !== ''), 'one attempt each')
  t.strictSame(await read(), [{ recent_results: 'h' }, { recent_results: 'f' }])
})

t.test('an endpoint that fails every third time never rests', async t => {
  // A rest would last until the end of the test.
  startSender(t, world, { ...HOOK_TIMES, first_rest_seconds: 60, longest_rest_seconds: 60 })
  const { account_id, id } = await subscribe('flaky')
  const failed = new Set<string>()
  hook.answer(({ json }, response) => {
    const fails = json.data.n % 30 >= 20 && !failed.has(json.id) // ten in a row
    if (fails) failed.add(json.id)
    response.writeHead(fails ? 500 : 200).end()
  })
  await announce(world, account_id, 300)
  await waitUntil(async () => (await countDeliveries(world, id)).success === 300, 'all of them')
  t.equal(failed.size, 100)
  shows(t, await readWebhook(world, id), { status: 'enabled', rests: null })
})

t.test('Retry-After is respected as seconds or a date, and 410 disables', async t => {
  startSender(t, world, HOOK_TIMES)
  const ask = async (name: string, status: number, retry_after?: string) => {
    const { account_id, id, posted } = await subscribe(name)
    hook.answer((_, response) => {
      response.writeHead(status, retry_after === undefined ? {} : { 'retry-after': retry_after }).end()
    })
    await announce(world, account_id, 1)
    await waitUntil(async () => (await listAttempts(world, id)).length === 1, name)
    const { rows } = await world.pool.pg.query(
      'SELECT extract(epoch FROM next_at - now())::float AS s FROM webhook_deliveries WHERE webhook_id = $1',
      [id],
    )
    t.equal(posted().length, 1)
    return { ...(await readWebhook(world, id)), due: rows[0].s }
  }
  for (const [name, status, retry_after] of [
    ['seconds', 429, '3600'],
    ['date', 503, new Date(now().getTime() + 3_600_000).toUTCString()],
  ] as const) {
    const { rests, due, ...state } = await ask(name, status, retry_after)
    shows(t, state, { status: 'enabled', failure_count: 1 })
    for (const seconds of [rests, due]) t.ok(seconds > 3_580 && seconds <= 3_600, `${name}: ${seconds}`)
  }
  shows(t, await ask('missing', 404), { status: 'enabled', failure_count: 1, due: Number })
  shows(t, await ask('gone', 410), {
    status: 'disabled',
    disabled_reason: 'endpoint_gone',
    failure_count: 1,
    due: null,
  })
})

t.test('a Retry-After pauses an endpoint although it accepts other events', async t => {
  const sender = startSender(t, world, HOOK_TIMES)
  const { account_id, id, posted } = await subscribe('limited')
  hook.answer(({ json }, response) => {
    if (json.data.n === 0) response.writeHead(429, { 'retry-after': '60' }).end()
    else waitUntil(async () => (await listAttempts(world, id)).length === 1, 'the first').then(() => response.end())
  })
  await announce(world, account_id, 5)
  await waitUntil(async () => (await listAttempts(world, id)).length === 2, 'both')
  await sender.idle()
  const { rests } = await readWebhook(world, id)
  t.ok(Number(rests) > 50, `${rests} s`)
  t.equal(posted().length, 2)

  hook.answer(200)
  await changeWebhook(world.pool, account_id, id, { endpoint: `${hook.url}/roomy` })
  await waitUntil(async () => (await countDeliveries(world, id)).success === 4, 'another endpoint')
})
