import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startApi } from '#test/support/api.ts'
import { shows } from '#test/support/shows.ts'
import { openHistory } from '#test/support/webhooks/webhook_history.ts'

const { hook, world, account, api, pg, add, announce, deliver, rowsOf } = await openHistory(t)

const ask = (method: string, path: string, body?: unknown, key?: string) =>
  api.request(method, `/api${path}`, { body, ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }) })

/** Sends a request with a key, and then again; the second gets the response of the first. */
async function askTwice(t: Test, path: string, body?: unknown, meanwhile = async () => {}) {
  const first = await ask('POST', path, body, 'one')
  await meanwhile()
  const again = await ask('POST', path, body, 'one')
  t.strictSame([again.status, again.text], [first.status, first.text])
  t.strictSame(
    [first, again].map(({ headers }) => headers.get('idempotent-replayed')),
    [null, 'true'],
  )
  return first
}

/** Lets the endpoint wait with its response until `release`. `arrived`: a request has reached it. */
function holdEndpoint(status: number) {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  hook.answer(async (_, response) => {
    arrive()
    await held
    response.writeHead(status).end()
  })
  return { arrived, release }
}

const refusal = { status: 409, body: { name: 'invalid_idempotent_request' } }

t.test('POST /automations/:id/steps adds one step per Idempotency-Key', async t => {
  const { body } = await ask('POST', '/automations', { name: 'A', trigger: 'signed.up', domain: account.domain })
  const path = `/automations/${body.id}`
  const wait = { type: 'delay', config: { duration: '1 day' } }
  const added = await askTwice(t, `${path}/steps`, wait)
  shows(t, added, { status: 201, body: { key: 'step_1' } })
  shows(t, await ask('POST', `${path}/steps`, { ...wait, key: 'later' }, 'one'), refusal)
  const { body: shown } = await ask('GET', path)
  shows(t, shown, { steps: [{ type: 'trigger' }, { id: added.body.id }] })
})

t.test('POST /campaigns/:id/test sends once per Idempotency-Key', async t => {
  const campaign = { from: `a@${account.domain}`, subject: 'S', html: 'Hi' }
  const { id } = (await ask('POST', '/campaigns', campaign)).body
  const sent = await askTwice(t, `/campaigns/${id}/test`, { to: ['a@b.com'] })
  shows(t, sent, { status: 200, body: { emails: [{ to: 'a@b.com' }] } })
  shows(t, await ask('POST', `/campaigns/${id}/test`, { to: ['b@b.com'] }, 'one'), refusal)
  const { rows } = await pg.query('SELECT id FROM emails WHERE account_id = $1', [account.id])
  t.equal(rows.length, 1)
})

t.test('a request is refused while another with its Idempotency-Key waits for an endpoint', async t => {
  const { id } = await add()
  const before = hook.posted.length
  const { arrived, release } = holdEndpoint(200)
  const first = ask('POST', `/webhooks/${id}/test`, undefined, 'same')
  await arrived
  const second = ask('POST', `/webhooks/${id}/test`, undefined, 'same')
  const { status, body } = (await Promise.race([second, sleep(2_000)])) ?? {}
  release()
  shows(t, { status, body }, { status: 409, body: { name: 'concurrent_idempotent_requests' } })
  t.equal((await first).status, 200)
  t.equal((await ask('POST', `/webhooks/${id}/test`, undefined, 'same')).text, (await first).text)
  t.equal(hook.posted.length, before + 1)
})

t.test('a web process refuses a request while another process handles one with its Idempotency-Key', async t => {
  const { id } = await add()
  const path = `/api/webhooks/${id}/test`
  const other = await startApi(t, world, account.key)
  const askOther = (key: string) => other.request('POST', path, { headers: { 'idempotency-key': key } })
  const before = hook.posted.length
  const { arrived, release } = holdEndpoint(500)
  const first = ask('POST', `/webhooks/${id}/test`, undefined, 'both')
  await arrived
  const refused = await Promise.race([askOther('both'), sleep(2_000)])
  release()
  shows(t, refused, { status: 409, body: { name: 'concurrent_idempotent_requests' } })
  const { status, text } = await first
  const again = await askOther('both')
  t.strictSame([again.status, again.text, again.headers.get('idempotent-replayed')], [status, text, 'true'])
  t.equal(hook.posted.length, before + 1)

  hook.answer(200)
  const send = (n: number) => (n % 2 ? askOther('race') : ask('POST', `/webhooks/${id}/test`, undefined, 'race'))
  const answers = await Promise.all([0, 1, 2, 3, 4, 5].map(send))
  t.equal(hook.posted.length, before + 2, 'only one of them acted')
  t.equal(new Set(answers.filter(answer => answer.status === 200).map(answer => answer.text)).size, 1)
})

t.test('a claim of an Idempotency-Key ends with a failure, and after 40 s if its process has died', async t => {
  const { id } = await add()
  const route = `/webhooks/${id}/test`
  const claims = () => pg.query(`SELECT FROM idempotency_keys WHERE route = $1`, [`claim of ${route}`])
  hook.answer(200)
  shows(t, await ask('POST', route, undefined, 'k'), { status: 200 })
  t.equal((await claims()).rowCount, 0)
  await pg.query(
    `INSERT INTO idempotency_keys SELECT account_id, $2, 'dead', fingerprint, '"x"' FROM idempotency_keys WHERE route = $1`,
    [route, `claim of ${route}`],
  )
  shows(t, await ask('POST', route, undefined, 'dead'), {
    status: 409,
    body: { name: 'concurrent_idempotent_requests' },
  })
  await pg.query(`UPDATE idempotency_keys SET created_at = now() - interval '41 s' WHERE key = 'dead'`)
  shows(t, await ask('POST', route, undefined, 'dead'), { status: 200 })
  t.equal((await claims()).rowCount, 0)
  const draft = { name: 'T', html: 'Hi', alias: 'taken' }
  await pg.query(`INSERT INTO idempotency_keys VALUES ($1, 'claim of /templates', 'other', '\\x00', '"x"')`, [
    account.id,
  ])
  shows(t, await ask('POST', '/templates', draft, 'other'), refusal)
  await ask('POST', '/templates', draft)
  shows(t, await ask('POST', '/templates', draft, 'k'), { status: 409, body: { name: 'validation_error' } })
  shows(t, await ask('POST', '/templates', { ...draft, alias: 'free' }, 'k'), { status: 201 })
})

t.test('POST /webhooks/:id/test posts once per Idempotency-Key', async t => {
  const { id } = await add()
  hook.answer(200)
  const before = hook.posted.length
  const tested = await askTwice(t, `/webhooks/${id}/test`)
  shows(t, tested, { status: 200, body: { ok: true } })
  t.equal(hook.posted.length, before + 1)
})

t.test('POST of a replay sends events again once per Idempotency-Key', async t => {
  const { id } = await add(['email.sent'])
  const [event] = await announce(['email.sent'])
  await deliver(id)
  const replays: [string, unknown, unknown][] = [
    [`/webhooks/${id}/events/${event}/replay`, undefined, { id: event }],
    [`/webhooks/${id}/replay`, { from: '2020-01-01', status: 'success' }, { replayed: 1 }],
  ]
  for (const [n, [path, body, shown]] of replays.entries()) {
    shows(t, await askTwice(t, path, body, () => deliver(id)), { status: 200, body: shown })
    shows(t, await rowsOf(id), [{ state: 'success', attempt: n + 2 }])
  }
})
