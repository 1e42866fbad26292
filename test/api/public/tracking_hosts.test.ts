import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createApp } from '#api/app.ts'
import { createHttpServer } from '#api/server.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { parseNetworks } from '#lib/net/client_address.ts'
import { makePolled } from '#test/support/polls.ts'
import { BROWSER, makeTracked } from '#test/support/tracking.ts'
import { makeRecipient } from '#test/support/unsubscribing.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t, { BASE_URL: 'https://mail.acme.net' })
const api = { url: await serve(t, world) }

type Asked = { host?: string; method?: string; url?: string; headers?: Record<string, string> }

/** Does not check responses against the operations: no operation declares those of a tracking host. */
async function serve(t: Pick<Test, 'teardown'>, foundation: Foundation): Promise<string> {
  const app = createApp(foundation)
  const server = createHttpServer(app)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise<void>(resolve => server.close(() => resolve()))
    await app.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Uses http.request, because fetch sets the Host header itself. */
function ask(path: string, { host = 'mail.acme.net', method = 'GET', url = api.url, headers = {} }: Asked = {}) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const options = { method, headers: { host, 'user-agent': BROWSER, ...headers }, agent: false }
    request(url + path, options, response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
    })
      .on('error', reject)
      .end()
  })
}

/** Creates a domain with click tracking whose CNAME record has this status. */
async function makeDomain(subdomain: string | null, status = 'verified'): Promise<TestAccount> {
  const own = await newAccount(world)
  await world.pool.pg.query('UPDATE domains SET click_tracking = true, tracking_subdomain = $2 WHERE id = $1', [
    own.domain_id,
    subdomain,
  ])
  await world.pool.pg.query(
    `INSERT INTO domain_records (account_id, domain_id, name, type, status) VALUES ($1, $2, $3, 'CNAME', $4)`,
    [own.id, own.domain_id, `${subdomain ?? 'track'}.${own.domain}`, status],
  )
  return own
}

t.test('a tracking host serves only the pages of recipients', async t => {
  const own = await makeDomain('links')
  const host = `links.${own.domain}`
  const email = await makeTracked(world, own)
  const { path } = await makeRecipient(world, own, 'x@b.com')
  const polled = await makePolled(world, own)
  t.equal((await ask(email.open_path, { host })).status, 200)
  t.equal((await ask(email.click_paths[0] as string, { host })).status, 302)
  t.equal((await ask(path, { host })).status, 200)
  t.equal((await ask(path, { host, method: 'POST' })).status, 200)
  t.equal((await ask(polled.path, { host })).status, 200)

  const { text: bad } = await ask('/t/c/x/y', { host })
  const paths = [
    '/',
    '/api',
    '/api/emails',
    '/api/openapi.json',
    '/healthz',
    '/readyz',
    '/nothing',
    '/t',
    '/tls/ask?domain=x',
  ]
  const hosts = [host, host.toUpperCase(), `${host}:443`, `${host}.`]
  for (const path of paths) {
    for (const host of hosts) {
      const { status, text } = await ask(path, { host })
      t.equal(status, 404, `${host}${path}`)
      t.equal(text, bad)
    }
  }
  t.equal((await ask('/api/emails', { host, method: 'POST' })).status, 404)
})

t.test('a host without a verified tracking record serves everything', async t => {
  const pending = await makeDomain('links', 'pending')
  const usual = await makeDomain(null)
  t.equal((await ask('/healthz', { host: `track.${usual.domain}` })).status, 404, 'the usual label')
  const untracked = await makeDomain('links')
  await world.pool.pg.query('UPDATE domains SET click_tracking = false WHERE id = $1', [untracked.domain_id])
  const hosts = [`links.${pending.domain}`, `links.${untracked.domain}`, `links.${usual.domain}`, usual.domain]
  for (const host of [
    ...hosts,
    'mail.acme.net',
    '127.0.0.1',
    '[::1]:80',
    'localhost:3000',
    'x',
    `${'a.'.repeat(2_000)}com`,
  ]) {
    t.equal((await ask('/healthz', { host })).status, 200, host.slice(0, 50))
  }
})

t.test('a tracking host stays one while DNS does not respond, once its domain was verified', async t => {
  const [known, unknown] = [
    await makeDomain('links', 'temporary_failure'),
    await makeDomain('links', 'temporary_failure'),
  ]
  await world.pool.pg.query(`UPDATE domains SET status = 'partially_verified' WHERE id = $1`, [unknown.domain_id])
  const answersOf = async ({ domain }: TestAccount) => {
    const host = `links.${domain}`
    return [(await ask('/healthz', { host })).status, (await ask(`/tls/ask?domain=${host}`)).status]
  }
  t.strictSame(await answersOf(known), [404, 200])
  t.strictSame(await answersOf(unknown), [200, 404])
})

t.test('the host of BASE_URL serves everything, even as a tracking host', async t => {
  const own = await makeDomain('links')
  const base = await openWorld(t, { BASE_URL: `https://links.${own.domain}` })
  const url = await serve(t, { ...world, config: base.config })
  t.equal((await ask('/healthz', { url, host: `links.${own.domain}` })).status, 200)
})

t.test('GET /tls/ask accepts our certificate hosts, only from this machine', async t => {
  const own = await makeDomain('links')
  const [verified, pending] = [`links.${own.domain}`, `links.${(await makeDomain('links', 'failed')).domain}`]
  const statusOf = async (domain: string, asked?: Asked) => (await ask(`/tls/ask?domain=${domain}`, asked)).status
  for (const domain of [verified, verified.toUpperCase(), 'mail.acme.net']) t.equal(await statusOf(domain), 200, domain)
  for (const domain of [pending, own.domain, 'acme.net', '', 'x', '%00', `${'a.'.repeat(3_000)}com`]) {
    t.equal(await statusOf(domain), 404, domain.slice(0, 50))
  }
  t.equal((await ask('/tls/ask')).status, 404)
  const forwarded = { headers: { 'x-forwarded-for': '127.0.0.1' } }
  t.equal(await statusOf(verified, forwarded), 404, 'passed on by a proxy that is not trusted')
  const config = { ...world.config, TRUSTED_PROXIES: parseNetworks('127.0.0.1') }
  const url = await serve(t, { ...world, config })
  t.equal(await statusOf(verified, { url }), 200, 'asked by the proxy itself')
  t.equal(await statusOf(verified, { url, headers: { 'x-forwarded-for': '192.0.2.1' } }), 404, 'passed on')
})
