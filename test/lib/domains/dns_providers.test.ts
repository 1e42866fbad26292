import t from 'tap'
import type { DomainRecord } from '#lib/domains/domain_records.ts'
import { applyRecords } from '#lib/domains/providers/apply.ts'
import { createProviderClient, type ProviderClient, wordsOf } from '#lib/domains/providers/ask.ts'
import { openCloudflare } from '#lib/domains/providers/cloudflare.ts'
import { openGodaddy } from '#lib/domains/providers/godaddy.ts'
import { openNamecheap } from '#lib/domains/providers/namecheap.ts'
import { planRecord, type ZoneRecord } from '#lib/domains/providers/plan.ts'
import { ProviderError } from '#lib/domains/providers/provider_error.ts'
import {
  CLOUDFLARE_TOKEN,
  GODADDY,
  type Kept,
  linesOf,
  NAMECHEAP,
  type Provider,
  startCloudflare,
  startGodaddy,
  startNamecheap,
} from '#test/support/dns/dns_providers.ts'
import { policyOf, startTcpServer } from '#test/support/http/fetching.ts'
import { shows } from '#test/support/shows.ts'

const KEY = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`
const SPF = 'v=spf1 include:server.com ~all'
const of = (record: DomainRecord['record'], type: DomainRecord['type'], name: string, value: string): DomainRecord => ({
  ...{ record, type, name: name ? `${name}.b.co.uk` : 'b.co.uk', value, purpose: 'sending' },
  ...(type === 'MX' ? { priority: 10 } : {}),
})
const wanted = [
  of('DKIM', 'TXT', 'mb1._domainkey', KEY),
  of('SPF', 'MX', 'send', 'feedback.server.com'),
  of('SPF', 'TXT', 'send', SPF),
  of('DMARC', 'TXT', '_dmarc', 'v=DMARC1; p=none;'),
  of('Receiving', 'MX', '', 'inbound.server.com'),
  of('Tracking', 'CNAME', 'track', 'links.server.com'),
]

/** Records of others in a zone; the TXT records contain what each format has to escape. */
const existing: Omit<Kept, 'id'>[] = [
  { type: 'A', name: 'b.co.uk', value: '192.0.2.1' },
  { type: 'MX', name: 'b.co.uk', value: 'mx.google.com', priority: 5 },
  { type: 'TXT', name: 'b.co.uk', value: 'say & <that> "x" \\ y' },
  { type: 'TXT', name: 'send.b.co.uk', value: 'other=1' },
  { type: 'TXT', name: 'send.b.co.uk', value: 'v=spf1 include:other.com -all' },
  { type: 'TXT', name: '_dmarc.b.co.uk', value: 'v=DMARC1; p=reject; rua=mailto:a@b.co.uk' },
]

function open(kind: string, { url }: Provider, domain = 'b.co.uk') {
  const ask = createProviderClient({ provider: kind, url, policy: policyOf([]) }, AbortSignal.timeout(5_000))
  if (kind === 'Cloudflare') return openCloudflare(ask, { token: CLOUDFLARE_TOKEN }, domain)
  if (kind === 'GoDaddy') return openGodaddy(ask, GODADDY, domain)
  return openNamecheap(ask, { api_key: NAMECHEAP.apiKey, api_user: NAMECHEAP.apiUser }, domain, '192.0.2.7')
}

const kinds: Record<string, typeof startCloudflare> = {
  Cloudflare: startCloudflare,
  GoDaddy: startGodaddy,
  Namecheap: startNamecheap,
}

const line = ({ type, name, value, priority }: DomainRecord) =>
  [type, name, ...(type === 'MX' ? [priority] : []), value].join(' ')
const named = (...records: (DomainRecord | undefined)[]) =>
  records.map(record => ({
    type: record?.type,
    name: record?.name === 'b.co.uk' ? 'b.co.uk' : record?.name.replace('.b.co.uk', ''),
  }))

for (const [kind, start] of Object.entries(kinds)) {
  t.test(`${kind}: an empty zone gets every record once`, async t => {
    const provider = await start(t, 'b.co.uk')
    const first = await applyRecords(await open(kind, provider), wanted)
    t.strictSame(first, { applied: named(...wanted), skipped: [], failed: [] })
    t.strictSame(linesOf(provider), wanted.map(line).sort())

    const before = provider.writes.length
    const second = await applyRecords(await open(kind, provider), wanted)
    shows(t, second, { applied: [], failed: [] })
    t.strictSame(
      second.skipped.map(({ message }) => message),
      wanted.map(() => 'It is there already.'),
    )
    t.equal(provider.writes.length, before)
  })

  t.test(`${kind}: existing records stay, and an SPF policy gets our include`, async t => {
    const provider = await start(t, 'b.co.uk', structuredClone(existing))
    provider.email_type = 'MX'
    const before = linesOf(provider)
    const outcome = await applyRecords(await open(kind, provider), wanted)
    const [dkim, feedback, spf, dmarc, receiving, tracking] = wanted
    t.strictSame(outcome.applied, named(dkim, feedback, spf, tracking))
    t.strictSame(
      outcome.skipped.map(({ message: _, ...rest }) => rest),
      named(dmarc, receiving),
    )
    t.strictSame(outcome.failed, [])
    const merged = 'TXT send.b.co.uk v=spf1 include:server.com include:other.com -all'
    const expected = before.map(text => (text.includes('v=spf1') ? merged : text))
    t.strictSame(
      linesOf(provider),
      [...expected, ...[dkim, feedback, tracking].map(r => line(r as DomainRecord))].sort(),
    )

    t.strictSame((await applyRecords(await open(kind, provider), wanted)).applied, [])
  })

  t.test(`${kind}: records of a subdomain go into the zone of the registered domain`, async t => {
    const provider = await start(t, 'b.co.uk')
    const spf = of('SPF', 'TXT', 'send.mail', SPF)
    await applyRecords(await open(kind, provider, 'mail.b.co.uk'), [spf])
    t.strictSame(linesOf(provider), [line(spf)])
  })

  t.test(`${kind}: a missing zone is reported in the provider’s words`, async t => {
    const provider = await start(t, 'another.com')
    const opened = (async () => applyRecords(await open(kind, provider), wanted))()
    await t.rejects(opened, new ProviderError())
    await t.rejects(opened, { message: /no zone|not registered|not found/ })
    t.strictSame(provider.writes, [])
  })

  t.test(`${kind}: invalid API responses and refused changes are errors`, async t => {
    const provider = await start(t, 'b.co.uk')
    for (const refuse of [
      { status: 502, body: '<html>Bad Gateway</html>' },
      { status: 500, body: '' },
      { status: 403, body: '{"errors":[{"code":1,"message":"no"}],"message":"no"}' },
    ]) {
      provider.refuse = refuse
      const applied = (async () => applyRecords(await open(kind, provider), wanted))()
      await t.rejects(applied, new ProviderError())
    }
    t.strictSame(provider.records, [])
  })
}

t.test('a refused record is reported, and the others are written', async t => {
  const provider = await startCloudflare(t, 'b.co.uk')
  const zone = await open('Cloudflare', provider)
  const add = zone.add
  zone.add = async record => {
    if (record.type === 'MX') provider.refuse = { status: 400, body: '{"errors":[{"code":1,"message":"No MX here"}]}' }
    await add(record).finally(() => {
      provider.refuse = null
    })
  }
  const { applied, failed } = await applyRecords(zone, wanted)
  t.equal(applied.length, 4)
  t.strictSame(failed, [
    { type: 'MX', name: 'send', message: 'Cloudflare: No MX here' },
    { type: 'MX', name: 'b.co.uk', message: 'Cloudflare: No MX here' },
  ])
})

t.test('Namecheap: mail forwarding continues, and MX records are left to the owner', async t => {
  const provider = await startNamecheap(t, 'b.co.uk', existing.slice(2))
  provider.email_type = 'FWD'
  const { applied, skipped } = await applyRecords(await open('Namecheap', provider), wanted)
  t.equal(provider.email_type, 'FWD')
  t.equal(applied.length, 3)
  shows(
    t,
    skipped.filter(({ type }) => type === 'MX'),
    [{ message: /FWD/ }, { message: /FWD/ }],
  )
})

t.test('Namecheap: records are never written back unless the response is fully understood', async t => {
  const answer = (inner: string) =>
    `<ApiResponse Status="OK"><Errors/><CommandResponse>${inner}</CommandResponse></ApiResponse>`
  const result = (attributes: string, inner = '') =>
    answer(`<DomainDNSGetHostsResult ${attributes}>${inner}</DomainDNSGetHostsResult>`)
  const good = 'Domain="b.co.uk" EmailType="MX" IsUsingOurDNS="true"'
  for (const body of [
    '',
    'x',
    '<ApiResponse',
    answer(''),
    result(good, '<host Name="a" Type="A"/>'),
    result(good, '<Records><host Name="a" Type="A" Address="192.0.2.1"/></Records>'),
    result('Domain="b.co.uk" IsUsingOurDNS="false"'),
    result('Domain="c.co.uk" IsUsingOurDNS="true"'),
  ]) {
    const asked: string[] = []
    const ask: ProviderClient = async (_, { body: sent = '' } = {}) => {
      asked.push(String(sent))
      return { status: 200, text: body }
    }
    const credentials = { api_key: 'x', api_user: 'x' }
    await t.rejects(openNamecheap(ask, credentials, 'b.co.uk', '192.0.2.7'), new ProviderError(), body)
    t.equal(asked.length, 1)
  }
})

t.test('each record is planned to be added, changed or skipped', async t => {
  const [dkim, feedback, spf, dmarc, , tracking] = wanted as [DomainRecord, ...DomainRecord[]]
  const found = (type: string, value: string): ZoneRecord => ({ type, name: 'x', value })
  const cases: [DomainRecord | undefined, ZoneRecord[], object][] = [
    [dkim, [found('TXT', KEY.replaceAll(' ', ''))], { act: 'skip', message: 'It is there already.' }],
    [dkim, [found('TXT', 'v=DKIM1; p=BBBB')], { act: 'skip', message: 'There is another key at this name.' }],
    [dkim, [found('TXT', 'p=')], { act: 'skip', message: 'There is another key at this name.' }],
    [dkim, [found('TXT', 'hello')], { act: 'add' }],
    [dkim, [found('CNAME', 'x.com')], { act: 'skip', message: /CNAME record for x\.com/ }],
    [feedback, [found('MX', 'feedback.server.com'), found('MX', 'a.com')], { act: 'skip', message: /already/ }],
    [feedback, [found('MX', 'a.com')], { act: 'skip', message: 'Mail to this name goes to a.com.' }],
    [spf, [found('TXT', 'v=spf10 x')], { act: 'add' }],
    [spf, [found('TXT', 'V=SPF1')], { act: 'replace', value: 'V=SPF1 include:server.com' }],
    [spf, [found('TXT', 'v=spf1 mx  redirect=x.com')], { value: 'v=spf1 include:server.com mx redirect=x.com' }],
    [spf, [found('TXT', 'v=spf1 INCLUDE:server.com -all')], { act: 'skip', message: /already/ }],
    [spf, [found('TXT', 'v=spf1 -all include:server.com')], { value: 'v=spf1 include:server.com -all' }],
    [spf, [found('TXT', 'v=spf1 mx; -all')], { act: 'skip', message: /invalid term mx;/ }],
    [spf, [found('TXT', 'v=spf1 -all'), found('TXT', 'v=spf1 mx')], { act: 'skip', message: /several/ }],
    [dmarc, [found('TXT', 'V=dmarc1;p=none')], { act: 'skip', message: /DMARC/ }],
    [tracking, [found('CNAME', 'links.server.com')], { act: 'skip', message: 'It is there already.' }],
    [tracking, [found('CNAME', 'x.com')], { act: 'skip', message: /x\.com/ }],
    [tracking, [found('AAAA', '::1')], { act: 'skip', message: /AAAA/ }],
    [tracking, [], { act: 'add' }],
  ]
  for (const [record, records, step] of cases) t.match(planRecord(record as DomainRecord, records), step)
})

t.test('a provider that is silent or unreachable fails within the deadline', async t => {
  const port = await startTcpServer(t, () => {})
  const url = `http://127.0.0.3:${port}`
  const silent = createProviderClient({ provider: 'X', url, policy: policyOf([]) }, AbortSignal.timeout(100))
  await t.rejects(silent('/'), { message: 'X did not respond in time.' })
  const forbidden = createProviderClient(
    { provider: 'X', url: 'http://127.0.0.66:1', policy: policyOf([]) },
    AbortSignal.timeout(5_000),
  )
  await t.rejects(forbidden('/'), { message: 'X could not be reached.' })
})

t.test('messages of a provider become one short line without credentials', async t => {
  const secret = 'a/b+c"d=7261'
  const forms = [secret, secret.toUpperCase(), encodeURIComponent(secret), JSON.stringify(secret)]
  const encoded = [Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')]
  for (const form of [...forms, ...encoded]) {
    t.equal(wordsOf(`the key ${form} is\n\u202ebad\u2028`, [secret]).replaceAll('"', ''), 'the key [redacted] is bad')
  }
  t.equal(wordsOf('a bad day', ['a']), 'a bad day')
  t.equal(wordsOf('x'.repeat(1000), []).length, 301)
})
