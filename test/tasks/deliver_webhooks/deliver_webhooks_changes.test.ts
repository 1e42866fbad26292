import { spawnSync } from 'node:child_process'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { changeWebhook, rotateSigningSecret } from '#flows/webhooks/change_webhook.ts'
import { sweepWebhooks } from '#flows/webhooks/sweep_disabled.ts'
import { markWebhookDeleted, updateWebhook } from '#sql/webhooks/webhooks.ts'
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
import { HOOK_TIMES, type Posted, startHook } from '#test/support/webhooks/webhook_receiver.ts'
import { openWorld } from '#test/support/world.ts'

const hook = await startHook(t)
const world = await openWorld(t, { FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(hook.port) })
/** The promise: a change takes effect within this time. */
const HEEDED_MS = 1_500

const subscribe = (name: string, account_id?: string) => addEndpoint(world, hook, name, account_id)

/** Verifies the signature of the received bytes with an independent HMAC. */
function isSigned({ headers, body }: Posted, secret: string): boolean {
  const hmac = (key: Buffer, prefix: string) =>
    spawnSync('openssl', ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${key.toString('hex')}`, '-binary'], {
      input: Buffer.concat([Buffer.from(prefix), body]),
    }).stdout
  const at = headers['x-service-timestamp']
  const standard = hmac(Buffer.from(secret.slice('whsec_'.length), 'base64'), `${headers['webhook-id']}.${at}.`)
  return (
    headers['webhook-timestamp'] === at &&
    headers['x-service-signature'] === hmac(Buffer.from(secret), `${at}.`).toString('hex') &&
    headers['webhook-signature'] === `v1,${standard.toString('base64')}`
  )
}

const skip = { skip: spawnSync('openssl', ['version']).error ? 'there is no openssl' : false }

t.test('each attempt signs the same bytes with the current secret', skip, async t => {
  startSender(t, world, { ...HOOK_TIMES, retry_seconds: Array(6).fill(1.5) }) // plus or minus a fifth: more than a second
  const { account_id, id, signing_secret, posted } = await subscribe('rotated')
  const text = 'Grüße 😀 \u2028 \u202e ﷽ \\u0041 "\\" \u{10ffff} e\u0301'
  hook.answer(500)
  await announce(world, account_id, 1, { text })
  await waitUntil(async () => (await listAttempts(world, id)).length === 1, 'the first attempt')
  const rotated = await rotateSigningSecret(world.pool, world.secrets, account_id, id)
  hook.answer(200)
  await waitUntil(async () => (await countDeliveries(world, id)).success === 1, 'the second')

  const [first, second] = posted() as [Posted, Posted]
  t.equal(posted().length, 2)
  t.ok(isSigned(first, signing_secret), 'the first by the first secret')
  t.ok(isSigned(second, rotated.signing_secret), 'the second by the second')
  t.notOk(isSigned(second, signing_secret), 'and not by the first')
  t.ok(Number(second.headers['x-service-timestamp']) > Number(first.headers['x-service-timestamp']))
  t.equal(first.headers['webhook-id'], second.headers['webhook-id'])
  t.ok(Math.abs(Number(second.headers['x-service-timestamp']) - Date.now() / 1_000) < 5)
  const { rows } = await world.pool.pg.query(
    'SELECT e.body FROM webhook_events e WHERE e.account_id = $1', // the only one
    [account_id],
  )
  for (const { body } of [first, second]) t.ok(body.equals(rows[0].body), 'byte for byte')
  t.equal(first.json.data.text, text)
})

t.test('changes to a busy webhook take effect within a second, and no event is lost', skip, async t => {
  startSender(t, world, HOOK_TIMES)
  const { account_id, id, signing_secret, posted } = await subscribe('before')
  let changed_at = Number.POSITIVE_INFINITY
  const after: { at: number; posted: Posted }[] = []
  hook.answer((posted, response) => {
    after.push({ at: performance.now() - changed_at, posted })
    setTimeout(() => response.end(), 25)
  })
  await announce(world, account_id, 180)
  await waitUntil(() => posted().length >= 20, 'some')
  const rotated = await rotateSigningSecret(world.pool, world.secrets, account_id, id)
  await changeWebhook(world.pool, account_id, id, { endpoint: `${hook.url}/after`, events: ['email.sent'] })
  changed_at = performance.now()
  await waitUntil(async () => (await countDeliveries(world, id)).success === 180, 'all')

  t.equal(after.length, 180, 'each once')
  const late = after.filter(({ at }) => at > HEEDED_MS)
  t.ok(late.length > 0, `${late.length} came later`)
  t.ok(late.every(({ posted }) => posted.path === '/hook/after'))
  t.ok(isSigned((late[0] as { posted: Posted }).posted, rotated.signing_secret))
  t.ok(isSigned((after[0] as { posted: Posted }).posted, signing_secret))
  await announce(world, account_id, 1)
  t.strictSame(await countDeliveries(world, id), { success: 180 }, 'it gets no more events of types it has left')
})

t.test('failures at the former endpoint do not count against the new one', async t => {
  startSender(t, world, HOOK_TIMES)
  const { account_id, id, posted } = await subscribe('former')
  const gone: ServerResponse[] = []
  hook.answer(({ path }, response) => {
    if (path.endsWith('former')) gone.push(response)
    else response.end()
  })
  await announce(world, account_id, 2)
  await waitUntil(() => gone.length === 2, 'both of them')
  await changeWebhook(world.pool, account_id, id, { endpoint: `${hook.url}/latter` })
  for (const response of gone) response.writeHead(410).end()
  await waitUntil(async () => (await countDeliveries(world, id)).success === 2, 'both at the new endpoint')
  shows(t, await readWebhook(world, id), { status: 'enabled', failure_count: 0 })
  shows(t, await listAttempts(world, id), [{ status: 410 }, { status: 410 }, { status: 200 }, { status: 200 }])
  t.equal(posted().length, 2)
})

t.test('requests in progress when a webhook is disabled keep their results', async t => {
  startSender(t, world, HOOK_TIMES)
  const { account_id, id } = await subscribe('interrupted')
  const waiting: ServerResponse[] = []
  hook.answer((_posted, response) => void waiting.push(response))
  await announce(world, account_id, 2)
  await waitUntil(() => waiting.length === 2, 'both requests')
  await changeWebhook(world.pool, account_id, id, { status: 'disabled' })
  await sweepWebhooks(world.pool)
  t.strictSame(await countDeliveries(world, id), { failed: 2 })
  waiting[0]?.writeHead(200).end()
  waiting[1]?.writeHead(500).end()
  await waitUntil(async () => (await listAttempts(world, id)).length === 2, 'both results')
  t.strictSame(await countDeliveries(world, id), { success: 1, failed: 1 })
  await changeWebhook(world.pool, account_id, id, { status: 'enabled' })
  t.strictSame(await countDeliveries(world, id), { success: 1, failed: 1 }, 'no other attempt is due')
})

t.test('a disabled or deleted webhook gets no more events, unlike others of the account', async t => {
  const sender = startSender(t, world, HOOK_TIMES)
  const disabled = await subscribe('disabled')
  const { account_id, id, posted } = disabled
  const deleted = await subscribe('deleted', account_id)
  const other = await subscribe('other', account_id)
  hook.answer(({ path }, response) => void setTimeout(() => response.end(), path.endsWith('other') ? 0 : 25))
  await announce(world, account_id, 200)
  await waitUntil(() => posted().length >= 4 && deleted.posted().length >= 4, 'some')
  await updateWebhook(world.pool, account_id, id, { status: 'disabled' })
  await markWebhookDeleted(world.pool, account_id, deleted.id)
  await waitUntil(async () => (await countDeliveries(world, other.id)).success === 200, 'the other')
  await sender.idle()
  for (const stopped of [disabled, deleted]) {
    const { success = 0, pending = 0 } = await countDeliveries(world, stopped.id)
    t.equal(success, stopped.posted().length, 'attempts that arrived are stored')
    t.ok(success < 150 && success + pending === 200, `${success} arrived`)
  }
  await announce(world, account_id, 1)
  t.strictSame((await countDeliveries(world, id)).success, posted().length)
})
