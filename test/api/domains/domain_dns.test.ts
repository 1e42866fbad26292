import t from 'tap'
import type { PresentedDomain } from '#flows/domains/find_domain.ts'
import { createLog } from '#lib/log.ts'
import { sql } from '#sql/pool.ts'
import { verify_domain } from '#tasks/verify_domain.ts'
import { type Answer, startApi } from '#test/support/api.ts'
import { dumpTables, formsOf } from '#test/support/database/dump.ts'
import {
  CLOUDFLARE_TOKEN,
  GODADDY,
  linesOf,
  NAMECHEAP,
  startCloudflare,
  startGodaddy,
  startNamecheap,
} from '#test/support/dns/dns_providers.ts'
import { startZone } from '#test/support/dns/name_server.ts'
import { ALLOWED } from '#test/support/http/fetching.ts'
import { readLogs } from '#test/support/request_log.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const ZONE = 'helped.com'
const providers = {
  cloudflare: await startCloudflare(t, ZONE),
  godaddy: await startGodaddy(t, ZONE),
  namecheap: await startNamecheap(t, ZONE),
}
const { server, zone } = await startZone(t)
const world = await openWorld(t, {
  ...{ DNS_SERVERS: server, SERVER_DOMAIN: 'mail.server.com', FETCH_ALLOW: ALLOWED, NAMECHEAP_CLIENT_IP: '192.0.2.7' },
  ...{ CLOUDFLARE_API: providers.cloudflare.url, GODADDY_API: providers.godaddy.url },
  NAMECHEAP_API: providers.namecheap.url,
})
const { pool } = world
const account = await newAccount(world)
const lines: string[] = []
const foundation = { ...world, log: createLog('trace', { write: line => void lines.push(line) }) }
const api = await startApi(t, foundation, account.key)
let requests = 0
const answers: string[] = []

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await api.request(method, `/api${path}`, { body })
  requests++
  answers.push(answer.text)
  return answer
}

const { id } = (
  await ask('POST', '/domains', { name: ZONE, capabilities: { receiving: 'enabled' }, open_tracking: true })
).body
const path = `/domains/${id}`

t.test('GET /domains/mx-check returns the MX records of a name', async t => {
  const ours = '10 inbound.mail.server.com'
  zone['ours.com'] = { MX: [ours] }
  zone['both.com'] = { MX: ['20 MX2.google.com', ours, '10 a.google.com'] }
  zone['null.com'] = { MX: ['0 .'] }
  zone['xn--bcher-kva.com'] = { A: ['192.0.2.1'] }
  const check = async (name: string) => (await ask('GET', `/domains/mx-check?name=${encodeURIComponent(name)}`)).body
  const mine = { exchange: 'inbound.mail.server.com', priority: 10 }
  const head = { object: 'mx_check', name: 'ours.com' }
  t.strictSame(await check('OURS.com'), { ...head, has_mx: true, ours: true, records: [mine] } as never)
  shows(t, await check('both.com'), {
    ...{ has_mx: true, ours: false },
    records: [{ exchange: 'a.google.com', priority: 10 }, mine, { exchange: 'mx2.google.com', priority: 20 }],
  })
  shows(t, await check('null.com'), { has_mx: false, ours: false, records: [{ exchange: '', priority: 0 }] })
  shows(t, await check('bücher.com'), { name: 'xn--bcher-kva.com', has_mx: false, ours: false, records: [] })
  shows(t, await check('nobody.com'), { has_mx: false, ours: false, records: [] })
})

t.test('GET /domains/mx-check refuses invalid names and reports DNS failures', async t => {
  zone['broken.com'] = 'servfail'
  for (const [query, name, message] of [
    ['', 'missing_required_field', /`name`/],
    ['?Name=b.co', 'missing_required_field', /`name`/],
    ['?name=', 'validation_error', /host name/],
    ['?name=b.co&name=c.co', 'validation_error', /once/],
    ...['127.0.0.1', '_x.b.co', 'b.co.', 'a@b.co', '%00.co', 'localhost', `${'a.'.repeat(126)}com`].map(
      name => [`?name=${name}`, 'validation_error', /host name/] as const,
    ),
    ['?name=broken.com', 'validation_error', /could not be looked up now/],
  ] as const) {
    t.match(await ask('GET', `/domains/mx-check${query}`), { status: 422, body: { name, message } }, query)
  }
})

t.test('GET /domains/:id/dns finds the DNS provider by its name servers', async t => {
  const { body } = await ask('POST', '/domains', { name: 'mail.kept.co.uk' })
  const detect = async () => (await ask('GET', `/domains/${body.id}/dns`)).body
  const head = { object: 'domain_dns', id: body.id, name: 'mail.kept.co.uk' }
  const unknown = { provider: 'Unidentified', nameservers: [], auto_configurable: false }
  t.strictSame(await detect(), { ...head, ...unknown } as never)
  for (const [provider, auto_configurable, ...nameservers] of [
    ['Cloudflare', true, 'ada.ns.cloudflare.com', 'bob.ns.cloudflare.com'],
    ['GoDaddy', true, 'ns01.domaincontrol.com', 'ns02.domaincontrol.com'],
    ['Namecheap', true, 'dns1.registrar-servers.com', 'dns2.registrar-servers.com'],
    ['Amazon Route 53', false, 'ns-1.awsdns-00.co.uk', 'ns-2.awsdns-01.org'],
    ['Digital Ocean', false, 'ns1.digitalocean.com', 'ns2.digitalocean.com'],
    ['Vercel', false, 'ns1.vercel-dns.com', 'ns2.vercel-dns.com'],
    ['Google Domains', false, 'ns-cloud-a1.googledomains.com'],
    ['Unidentified', false, 'ada.ns.cloudflare.com', 'ns1.acme.com'],
    ['Unidentified', false, 'cloudflare.com.evil.com'],
  ] as const) {
    zone['kept.co.uk'] = { NS: nameservers.map(name => name.toUpperCase()) }
    t.strictSame(await detect(), { ...head, provider, nameservers, auto_configurable } as never)
  }
  zone['mail.kept.co.uk'] = { NS: ['ns1.vercel-dns.com'] }
  t.match(await detect(), { provider: 'Vercel' }, 'it may be a separate zone')
  zone['mail.kept.co.uk'] = 'refused'
  t.match(await detect(), { statusCode: 422, name: 'validation_error', message: /could not be looked up now/ })
})

t.test('GET /domains/:id/dns/export returns each format', async t => {
  for (const [query, format, type, content] of [
    ['', 'zone', 'text/dns', /\nsend\.helped\.com\.\t3600\tIN\tMX\t10 feedback\.mail\.server\.com\.\n/],
    ['?format=csv', 'csv', 'text/csv', /\r\nMX,helped\.com,inbound\.mail\.server\.com,10,3600\r\n/],
    ['?format=json', 'json', 'application/json', /"track\.helped\.com"/],
  ] as const) {
    const { status, body } = await ask('GET', `${path}/dns/export${query}`)
    t.equal(status, 200)
    const head = { object: 'domain_records_export', id, name: ZONE, format, filename: `${ZONE}.${format}` }
    t.match(body, { ...head, content_type: type, content })
    t.equal(Object.keys(body).length, 7)
  }
  for (const query of ['format=xml', 'format=', 'format=zone&format=csv']) {
    t.match(await ask('GET', `${path}/dns/export?${query}`), { status: 422, body: { name: 'validation_error' } })
  }
})

const credentials = { cloudflare: { token: CLOUDFLARE_TOKEN }, godaddy: GODADDY, namecheap: NAMECHEAP }
const names = { cloudflare: 'Cloudflare', godaddy: 'GoDaddy', namecheap: 'Namecheap' }
const kinds = Object.keys(credentials) as (keyof typeof credentials)[]

t.test('missing and invalid credentials of a DNS provider are refused by name', async t => {
  for (const [kind, body, name, message] of [
    ['cloudflare', undefined, 'validation_error', /body/],
    ['cloudflare', {}, 'missing_required_field', /`token`/],
    ['cloudflare', { token: 7 }, 'validation_error', /`token`/],
    ['cloudflare', { token: 'two words of' }, 'validation_error', /`token`/],
    ['cloudflare', { token: `x\r\nx-evil: ${'y'.repeat(20)}` }, 'validation_error', /`token`/],
    ['godaddy', { key: GODADDY.key }, 'missing_required_field', /`secret`/],
    ['godaddy', { secret: GODADDY.secret }, 'missing_required_field', /`key`/],
    ['godaddy', { ...GODADDY, key: 'with:colon' }, 'validation_error', /`key`/],
    ['namecheap', { apiUser: 'x' }, 'missing_required_field', /`api_key`/],
    ['namecheap', { apiKey: NAMECHEAP.apiKey }, 'missing_required_field', /`api_user`/],
    ['namecheap', { ...NAMECHEAP, userName: 'ü' }, 'validation_error', /`userName`/],
    ['namecheap', [NAMECHEAP], 'validation_error', /body/],
  ] as const) {
    t.match(await ask('POST', `${path}/dns/${kind}`, body), { status: 422, body: { name, message } })
  }
})

for (const kind of kinds) {
  t.test(`${kind}: POST /domains/:id/dns/${kind} writes the records and starts verification`, async t => {
    await pool.run(sql.unsafe`UPDATE domains SET status = 'not_started' WHERE id = ${id}`)
    const provider = providers[kind]
    const { status, body } = await ask('POST', `${path}/dns/${kind}`, { ...credentials[kind], type: 'TXT' })
    t.equal(status, 200)
    t.strictSame(Object.keys(body), ['object', 'id', 'provider', 'applied', 'skipped', 'failed', 'status'])
    shows(t, body, {
      object: 'domain_dns_result',
      id,
      provider: names[kind],
      skipped: [],
      failed: [],
      status: 'pending',
    })
    const { records } = (await ask('GET', path)).body as unknown as PresentedDomain
    const named = records.map(({ type, name }) => ({ type, name }))
    t.strictSame((body as unknown as { applied: object[] }).applied, named)
    t.equal(provider.records.length, records.length)

    // Publish the written records in our zone.
    for (const { type, name, value, priority } of provider.records) {
      const { [name]: there } = zone
      const plain = type === 'MX' ? `${priority} ${value}` : value
      zone[name] = {
        ...(typeof there === 'object' ? there : {}),
        [type]: [plain.replace(/\.$/, '').replace(/^"|" "|"$/g, '')],
      }
    }
    const { rowCount } = await pool.pg.query(`DELETE FROM graphile_worker._private_jobs WHERE key = $1`, [
      `verify_domain:${id}`,
    ])
    t.equal(rowCount, 1)
    await verify_domain({ account_id: account.id, domain_id: id }, openWork(t, world))
    shows(t, (await ask('GET', path)).body, { status: 'verified' })

    const again = await ask('POST', `${path}/dns/${kind}`, credentials[kind])
    shows(t, again, { status: 200, body: { applied: [], failed: [], status: 'verified' } })
    for (const { name } of provider.records) delete zone[name]
  })

  t.test(`${kind}: a refusal quotes the provider, without the credentials`, async t => {
    const provider = providers[kind]
    const before = linesOf(provider)
    const wrong = { cloudflare: { token: `${CLOUDFLARE_TOKEN}X` }, godaddy: { ...GODADDY, key: `${GODADDY.key}X` } }
    const given = { ...wrong, namecheap: { api_key: `${NAMECHEAP.apiKey}X`, api_user: NAMECHEAP.apiUser } }[kind]
    const { status, body } = await ask('POST', `${path}/dns/${kind}`, given)
    t.match({ status, body }, { status: 422, body: { name: 'validation_error', message: `${names[kind]}: ` } })
    t.match(body.message, /\[redacted\]/)
    t.strictSame(linesOf(provider), before)
  })
}

t.test('records of a domain that could not be verified are not written', async t => {
  const other = await newAccount(world)
  const { body } = await ask('POST', '/domains', { name: `a.${ZONE}` })
  await pool.run(sql.unsafe`UPDATE domains SET name = 'held.com', status = 'verified' WHERE id = ${other.domain_id}`)
  await pool.run(sql.unsafe`UPDATE domains SET name = 'a.held.com' WHERE id = ${body.id}`)
  const before = providers.cloudflare.writes.length
  const answer = await ask('POST', `/domains/${body.id}/dns/cloudflare`, credentials.cloudflare)
  t.match(answer, { status: 409, body: { name: 'domain_conflict' } })
  t.equal(providers.cloudflare.writes.length, before)
})

t.test('credentials that a provider repeats in its error are redacted', async t => {
  const { body } = await ask('POST', '/domains', { name: `refused.${ZONE}` })
  for (const kind of kinds) {
    const all = Object.values(credentials[kind]).map(secret => `${secret} ${encodeURIComponent(secret)}`)
    const message = JSON.stringify(`no: ${all.join(' ')} \u202e ${'x'.repeat(1000)}`)
    const xml = `<ApiResponse Status="ERROR"><Errors><Error Number="1">${message}</Error></Errors></ApiResponse>`
    const json = `{"success":false,"errors":[{"message":${message}}],"message":${message}}`
    providers[kind].refuse = { status: 403, body: kind === 'namecheap' ? xml : json }
    const answer = await ask('POST', `/domains/${body.id}/dns/${kind}`, credentials[kind])
    providers[kind].refuse = null
    t.match(answer, { status: 422, body: { message: new RegExp(`^${names[kind]}: .*no: \\[redacted\\]`) } })
    t.ok(answer.body.message.length < 400)
  }
})

t.test('no credential is stored, logged or returned', async t => {
  const requestLog = JSON.stringify(await readLogs(pool, account, requests))
  t.match(requestLog, /dns\/namecheap/)
  const tables = [...(await dumpTables(pool))]
  const secrets = [CLOUDFLARE_TOKEN, ...Object.values(GODADDY), ...Object.values(NAMECHEAP)]
  for (const secret of secrets) {
    for (const form of formsOf(secret)) {
      t.notOk(requestLog.includes(form), 'in the request log')
      t.notOk(lines.join('').includes(form), 'in the log')
      t.notOk(answers.join('').includes(form), 'in a response')
      t.strictSame(
        tables.filter(([, text]) => text.includes(form)).map(([name]) => name),
        [],
      )
    }
  }
})
