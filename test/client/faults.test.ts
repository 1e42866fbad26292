import t from 'tap'
import { waitBefore } from '#client/source/calls/retries.ts'
import { Mailbrook, MailbrookError } from '#client/source/index.ts'
import { startApi } from '#test/support/api.ts'
import { type Cut, startCuttingProxy } from '#test/support/client/cutting_proxy.ts'
import { findFreePort } from '#test/support/free_port.ts'
import { ALLOWED, startServer } from '#test/support/http/fetching.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const proxy = await startCuttingProxy(t, api.url)
// A reused connection would not be cut.
const client = new Mailbrook({ apiKey: account.key, baseUrl: proxy.url, headers: { connection: 'close' } })

const CUTS: Cut[] = ['before', 'in the request', 'before the response', 'in the response']
const countEmails = async (subject: string) => (await client.emails.list({ q: subject })).data.length

t.test('a send takes effect once, wherever its connection is cut', async t => {
  for (const [n, cut] of CUTS.entries()) {
    const subject = `Cut ${n}`
    const email = { from: `a@${account.domain}`, to: 'b@b.com', subject, text: 'x' }
    const before = proxy.connections()
    proxy.cut(cut, cut)
    const { id } = await client.emails.send(email)
    t.equal(proxy.connections() - before, 3, `${cut}: two more tries`)
    t.equal(await countEmails(subject), 1, cut)
    shows(t, await client.emails.get(id), { id, subject })
  }
})

t.test('a failed send returns its idempotency key for another attempt', async t => {
  const email = { from: `a@${account.domain}`, to: 'b@b.com', subject: 'Later', text: 'x' }
  proxy.cut('before the response', 'before the response', 'before the response')
  const error = await client.emails.send(email).catch(error => error)
  t.ok(MailbrookError.is(error, 'network_error'))
  t.equal(error.statusCode, 0)
  t.equal(typeof error.idempotencyKey, 'string')
  await client.emails.send(email, { idempotencyKey: error.idempotencyKey })
  t.equal(await countEmails('Later'), 1)
})

t.test('a request without idempotency is not repeated once it was sent', async t => {
  for (const cut of CUTS) {
    const before = proxy.connections()
    proxy.cut(cut)
    const error = await client.topics
      .create({ name: `Cut ${cut}`, default_subscription: 'opt_in' })
      .catch(error => error)
    t.ok(MailbrookError.is(error, 'network_error'), cut)
    t.equal(proxy.connections() - before, 1, cut)
  }
  const names = (await client.topics.list().all()).map(({ name }) => name)
  t.strictSame(names.sort(), ['Cut before the response', 'Cut in the response'])
})

t.test('a deletion whose first try was cut succeeds, and one of an unknown record does not', async t => {
  for (const cut of CUTS) {
    const { id } = await client.topics.create({ name: `Deleted ${cut}`, default_subscription: 'opt_in' })
    proxy.cut(cut)
    t.strictSame(await client.topics.delete(id), { object: 'topic', id, deleted: true }, cut)
    t.ok(MailbrookError.is(await client.topics.delete(id).catch(error => error), 'not_found'), cut)
  }
  const { email } = await client.contacts.create({ email: 'gone@b.com', domain: account.domain })
  proxy.cut('before the response')
  shows(t, await client.contacts.delete(email), { object: 'contact', id: email, deleted: true })
})

t.test('a failure of an open connection does not mean that the request was never sent', async t => {
  for (const [syscall, tries] of [
    ['connect', 3],
    ['read', 1],
    ['write', 1],
  ] as const) {
    let count = 0
    const client = new Mailbrook({
      apiKey: 'mb_1',
      fetch: async () => {
        count++
        throw new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'EHOSTUNREACH', syscall }) })
      },
    })
    const error = await client.topics.create({ name: 'x', default_subscription: 'opt_in' }).catch(error => error)
    t.ok(MailbrookError.is(error, 'network_error'), syscall)
    t.equal(count, tries, syscall)
  }
})

t.test('a request that was never sent is always repeated', async t => {
  const nobody = `http://127.0.0.1:${await findFreePort()}`
  let tries = 0
  const late = new Mailbrook({
    ...{ apiKey: account.key, baseUrl: nobody },
    fetch: (url, init) => fetch(++tries < 2 ? url : String(url).replace(nobody, api.url), init),
  })
  await late.topics.create({ name: 'Never sent', default_subscription: 'opt_in' })
  t.equal(tries, 2)
})

/** Responds with these in turn; the last one repeats. */
async function startAnswers(answers: { status: number; headers?: Record<string, string>; body: string }[]) {
  const times: number[] = []
  const port = await startServer(t, (_, response) => {
    const {
      status,
      headers = {},
      body,
    } = answers[Math.min(times.length, answers.length - 1)] as (typeof answers)[number]
    times.push(Date.now())
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  })
  return { times, client: new Mailbrook({ apiKey: 'mb_1', baseUrl: `http://${ALLOWED}:${port}/` }) }
}

const errorBody = (statusCode: number, name: string, more: object = {}) =>
  JSON.stringify({ statusCode, name, message: 'No.', ...more })
const OK = { status: 200, body: '{"id":"1"}' }
const email = { from: 'a@acme.com', to: 'b@b.com' }

t.test('the client waits for a rate limit as long as the server says, and not for a quota', async t => {
  const limited = { status: 429, headers: { 'retry-after': '1' }, body: errorBody(429, 'rate_limit_exceeded') }
  const { times, client } = await startAnswers([limited, OK])
  shows(t, await client.emails.send(email), { id: '1' })
  // The time is what the server asked for, and a busy machine only adds to it.
  t.ok((times[1] ?? 0) - (times[0] ?? 0) >= 990, `${times}`)

  const quota = await startAnswers([
    { status: 429, headers: { 'retry-after': '1' }, body: errorBody(429, 'daily_quota_exceeded') },
  ])
  shows(t, await quota.client.emails.send(email).catch(error => ({ ...error })), {
    ...{ statusCode: 429, name: 'daily_quota_exceeded', message: 'No.' },
  })
  t.equal(quota.times.length, 1)

  const long = await startAnswers([{ ...limited, headers: { 'retry-after': '61' } }])
  t.ok(MailbrookError.is(await long.client.emails.send(email).catch(error => error), 'rate_limit_exceeded'))
  t.equal(long.times.length, 1, 'a minute is the longest wait')
})

t.test('server errors are retried if the request cannot take effect twice', async t => {
  const proxyError = {
    status: 502,
    headers: { 'content-type': 'text/html', 'retry-after': '0' },
    body: '<h1>Bad gateway</h1>',
  }
  const keyed = await startAnswers([proxyError, proxyError, OK])
  shows(t, await keyed.client.emails.send(email), { id: '1' })
  t.equal(keyed.times.length, 3)

  const unkeyed = await startAnswers([proxyError, OK])
  const error = await unkeyed.client.topics.create({ name: 'x', default_subscription: 'opt_in' }).catch(error => error)
  shows(t, error.toJSON(), {
    statusCode: 502,
    name: 'unexpected_response',
    message: 'The response is not JSON from Mailbrook (status 502): <h1>Bad gateway</h1>',
  })
  t.equal(unkeyed.times.length, 1)

  const busy = { status: 503, headers: { 'retry-after': '0' }, body: errorBody(503, 'contacts_busy') }
  const contacts = await startAnswers([busy, OK])
  shows(t, await contacts.client.contacts.create({ email: 'a@b.com' }), { id: '1' })
})

t.test('batch_incomplete lists what was sent, and is not retried', async t => {
  const sent = [{ index: 0, id: '7' }]
  const { times, client } = await startAnswers([
    { status: 503, headers: { 'retry-after': '1' }, body: errorBody(503, 'batch_incomplete', { sent, sent_count: 1 }) },
  ])
  const error = await client.emails.batch([email, email]).catch(error => error)
  t.ok(MailbrookError.is(error, 'batch_incomplete'))
  t.strictSame(error.details, { sent, sent_count: 1 })
  t.strictSame(JSON.parse(JSON.stringify(error)), { statusCode: 503, name: 'batch_incomplete', message: 'No.' })
  t.strictSame(Object.keys(error).sort(), ['message', 'name', 'statusCode'])
  t.equal(times.length, 1)
})

t.test('each attempt has its own timeout, and a signal ends all', async t => {
  const port = await startServer(t, () => {})
  let tries = 0
  const client = new Mailbrook({
    ...{ apiKey: 'mb_1', baseUrl: `http://${ALLOWED}:${port}`, timeout: 50 },
    fetch: (url, init) => {
      tries++
      return fetch(url, init)
    },
  })
  shows(t, (await client.emails.send(email, { retries: 1 }).catch(error => error)).toJSON(), {
    ...{ statusCode: 0, name: 'network_error', message: 'No response within 50 ms.' },
  })
  t.equal(tries, 2)

  const signal = AbortSignal.timeout(30)
  const aborted = await client.emails.send(email, { signal, timeout: 20, retries: 1000 }).catch(error => error)
  t.equal(aborted, signal.reason, 'also during the wait between two tries')
})

t.test('no wait is longer than a minute, however often a call is retried', async t => {
  const error = new MailbrookError(0, 'network_error', 'No.')
  for (const retry of [0, 10, 30, 99]) {
    const waits = Array.from({ length: 50 }, () => waitBefore(error, retry) ?? 0)
    t.ok(Math.max(...waits) <= 60_000, `${retry}: ${Math.max(...waits)}`)
  }
})

t.test('a timeout that is longer than a timer can be is none', async t => {
  const port = await startServer(t, (_, response) => {
    setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(OK.body), 50)
  })
  for (const timeout of [Number.POSITIVE_INFINITY, 2 ** 31]) {
    const client = new Mailbrook({ apiKey: 'mb_1', baseUrl: `http://${ALLOWED}:${port}`, timeout, retries: 0 })
    shows(t, await client.emails.send(email).catch(error => error.toJSON()), { id: '1' })
  }
})

t.test('a response that is not JSON returns the idempotency key', async t => {
  const { client } = await startAnswers([{ status: 200, body: '<h1>Sign in</h1>' }])
  const error = await client.emails.send(email, { idempotencyKey: 'k' }).catch(error => error)
  t.ok(MailbrookError.is(error, 'unexpected_response'))
  t.equal(error.idempotencyKey, 'k')
})

t.test('a redirect is an error', async t => {
  const { client } = await startAnswers([{ status: 301, headers: { location: 'https://mail.acme.com/api' }, body: '' }])
  shows(t, (await client.emails.send(email).catch(error => error)).toJSON(), {
    ...{ statusCode: 301, name: 'unexpected_response' },
    message: 'The server redirects to https://mail.acme.com/api: set `baseUrl` to the address that it redirects to.',
  })
})
