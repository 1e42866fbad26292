import t from 'tap'
import { createDns } from '#lib/net/dns.ts'
import { startZone } from '#test/support/dns/name_server.ts'
import { shows } from '#test/support/shows.ts'

const { server, zone, asked } = await startZone(t)
const dns = createDns([server], { try_ms: 100, tries: 2, deadline_ms: 1_000 })

t.test('records are returned in lower case, without final dots, TXT in one piece', async t => {
  const long = 'x'.repeat(600)
  zone['acme.com'] = { TXT: ['one', long], MX: ['20 MX2.acme.com', '10 mx1.acme.com'], NS: ['NS.acme.com'] }
  t.strictSame(await dns.txt('acme.com'), { outcome: 'found', records: ['one', long] })
  shows(t, await dns.mx('acme.com'), { outcome: 'found', records: [{ priority: 20, exchange: 'mx2.acme.com' }, {}] })
  t.strictSame(await dns.ns('acme.com'), { outcome: 'found', records: ['ns.acme.com'] })
})

t.test('a null MX is returned as an empty exchange', async t => {
  zone['null.com'] = { MX: ['0 .'] }
  shows(t, await dns.mx('null.com'), { outcome: 'found', records: [{ priority: 0, exchange: '' }] })
})

t.test('a CNAME is followed to the records of its target', async t => {
  zone['alias.acme.com'] = { CNAME: ['target.acme.com'] }
  zone['target.acme.com'] = { TXT: ['there'] }
  t.strictSame(await dns.txt('alias.acme.com'), { outcome: 'found', records: ['there'] })
  t.strictSame(await dns.cname('alias.acme.com'), { outcome: 'found', records: ['target.acme.com'] })
})

t.test('a CNAME loop ends without a result', async t => {
  zone['a.loop.com'] = { CNAME: ['b.loop.com'] }
  zone['b.loop.com'] = { CNAME: ['a.loop.com'] }
  for (const answer of [await dns.txt('a.loop.com'), await dns.mx('a.loop.com'), await dns.addresses('a.loop.com')]) {
    t.not(answer.outcome, 'found')
  }
})

t.test('a long response is fetched over TCP, with at most 500 texts and 64 KB', async t => {
  zone['many.com'] = { TXT: Array.from({ length: 500 }, (_, n) => `text ${n}`) }
  zone['long.com'] = { TXT: ['y'.repeat(63_000)] }
  const patient = createDns([server], { try_ms: 10_000, tries: 1, deadline_ms: 20_000 }) // a second try would count, too
  shows(t, await patient.txt('many.com'), { outcome: 'found', records: { length: 500 } })
  t.equal(asked.filter(question => question === 'TXT many.com').length, 2)
  t.strictSame(await patient.txt('long.com'), { outcome: 'found', records: ['y'.repeat(4_096)] })
})

t.test('a missing name and a missing record are distinguished', async t => {
  zone['bare.com'] = { A: ['192.0.2.1'] }
  t.strictSame(await dns.txt('bare.com'), { outcome: 'none', exists: true })
  t.strictSame(await dns.txt('nobody.com'), { outcome: 'none', exists: false })
})

t.test('an invalid name counts as missing', async t => {
  for (const name of [`${'a'.repeat(64)}.com`, 'a..com', Array(130).fill('a').join('.')]) {
    t.strictSame(await dns.txt(name), { outcome: 'none', exists: false }, name)
  }
  shows(t, await dns.names('no address'), { outcome: 'none' })
})

t.test('a server that refuses or is silent counts as failed', async t => {
  for (const trouble of ['servfail', 'refused', 'silent', 'garbage'] as const) {
    zone['sick.com'] = trouble
    shows(t, await dns.txt('sick.com'), { outcome: 'failed' }, trouble)
    shows(t, await dns.addresses('sick.com'), { outcome: 'failed' }, trouble)
  }
})

t.test('the deadline ends a lookup whose tries are not over', async t => {
  zone['mute.com'] = 'silent'
  const eager = createDns([server], { try_ms: 100, tries: 9, deadline_ms: 400 }) // nine tries would take a minute
  t.strictSame(await eager.txt('mute.com'), { outcome: 'failed', reason: 'ECANCELLED' })
  t.ok(asked.filter(question => question === 'TXT mute.com').length < 9)
})

t.test('an unreachable server counts as failed', async t => {
  const nobody = createDns(['127.0.0.1:9'], { try_ms: 100, tries: 1, deadline_ms: 1_000 })
  shows(t, await nobody.txt('acme.com'), { outcome: 'failed' })
})
