import { createHmac } from 'node:crypto'
import t from 'tap'
import { testWebhook } from '#flows/webhooks/test_webhook.ts'
import { Connections } from '#lib/net/fetch/connections.ts'
import { fetchPolicy } from '#lib/net/fetch_safely.ts'
import { startApi } from '#test/support/api.ts'
import { ALLOWED, FORBIDDEN, startTcpServer } from '#test/support/http/fetching.ts'
import { shows } from '#test/support/shows.ts'
import { addWebhook } from '#test/support/webhooks/add_webhook.ts'
import { startHook } from '#test/support/webhooks/webhook_receiver.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const CLOSED = 9
const hook = await startHook(t)
const silent = await startTcpServer(t, () => {})
const ports = [80, hook.port, silent, CLOSED].join()
const world = await openWorld(t, { FETCH_ALLOW: ALLOWED, FETCH_PORTS: ports })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const { pg } = world.pool
const events = ['email.delivered']

t.test('POST /webhooks/:id/test sends a test at once and records it', async t => {
  const { id, signing_secret } = await addWebhook(world, account.id, { endpoint: hook.url, events })
  await api.request('PATCH', `/api/webhooks/${id}`, { body: { status: 'disabled' } })
  const before = (await pg.query('SELECT * FROM webhooks WHERE id = $1', [id])).rows
  for (const [status, ok] of [
    [200, true],
    [204, true],
    [302, false],
    [410, false],
    [500, false],
  ] as const) {
    hook.answer(status)
    const { text } = await api.request('POST', `/api/webhooks/${id}/test`)
    const error = /responded/.test(text) ? { error: JSON.parse(text).error } : {}
    t.strictSame(JSON.parse(text), { object: 'webhook_test', id, ok, status, ...error })
    t.equal('error' in error, !ok)

    const posted = hook.posted.at(-1) as (typeof hook.posted)[0]
    t.match(posted.json, { type: 'test', created_at: /Z$/, id: /-7/, data: { message: /test/, webhook_id: id } })
    t.equal(posted.headers['webhook-id'], `msg_${posted.json.id}`)
    t.strictSame(Object.keys(posted.json), ['type', 'created_at', 'id', 'data'])
    const signed = createHmac('sha256', signing_secret).update(
      `${posted.headers['x-service-timestamp']}.${posted.body}`,
    )
    t.equal(posted.headers['x-service-signature'], signed.digest('hex'))

    const event = await api.request('GET', `/api/webhooks/${id}/events/${posted.json.id}`)
    t.match(event.body, {
      type: 'test',
      status: ok ? 'success' : 'failed',
      next_attempt_at: null,
      payload: posted.json,
    })
    const attempts = await api.request('GET', `/api/webhooks/${id}/events/${posted.json.id}/attempts`)
    shows(t, attempts.body, { data: [{ attempt: 1, http_status_code: status, error: ok ? null : /./ }] })
    t.equal(attempts.body.data.length, 1)
  }
  hook.answer(200)
  t.strictSame((await pg.query('SELECT * FROM webhooks WHERE id = $1', [id])).rows, before)
  const jobs = await pg.query(`SELECT FROM graphile_worker.jobs WHERE task_identifier = 'deliver_webhooks'`)
  t.equal(jobs.rowCount, 0)
})

t.test('failed tests of webhooks do not reveal why a host cannot be reached', async t => {
  const connections = new Connections(fetchPolicy(world.config))
  t.teardown(() => connections.close())
  const test = async (endpoint: string) => {
    const { id } = await addWebhook(world, account.id, { endpoint, events })
    const webhook = { account_id: account.id, webhook_id: id }
    const { id: _, ...answer } = await testWebhook({ ...world, connections }, webhook, 200)
    const attempts = await pg.query('SELECT status, error, response FROM webhook_attempts WHERE webhook_id = $1', [id])
    t.strictSame(attempts.rows, [{ status: null, error: answer.error, response: null }])
    return answer
  }
  const answer = {
    object: 'webhook_test',
    ok: false,
    status: 0,
    error: 'The URL could not be fetched: its host does not respond, or is not public and not in FETCH_ALLOW.',
  }
  for (const origin of [`${FORBIDDEN}:${hook.port}`, `${ALLOWED}:${CLOSED}`, 'no-such-name.acme.com']) {
    t.strictSame(await test(`http://${origin}/`), answer, origin)
  }
  const late = { ...answer, error: 'The server did not respond in time.' }
  t.strictSame(await test(`http://${ALLOWED}:${silent}/`), late, 'an allowed server that is silent')
})
