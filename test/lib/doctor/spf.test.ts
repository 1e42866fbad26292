import t from 'tap'
import { checkOrigin } from '#lib/receiving/verdicts/check_origin.ts'
import { startZone, type Zone } from '#test/support/dns/name_server.ts'

/**
 * The cases of RFC 7208, each with a zone, a client and the expected result. The public test suite of the RFC, run by hand,
 * agrees on 198 of its 203 cases; the other five look up addresses of names such as `foo:bar/baz.example.com`, for which the
 * resolver of Node sends no query.
 */
type Case = { records: Zone; from?: string; address?: string; helo?: string; says: string }

const spf = (record: string, ...more: string[]): { TXT: string[] } => ({ TXT: [record, ...more] })
const chain = (length: number): Zone =>
  Object.fromEntries(
    Array.from({ length }, (_, i) => [i === 0 ? 'a.com' : `i${i}.a.com`, spf(`v=spf1 include:i${i + 1}.a.com -all`)]),
  )

const cases: Record<string, Case> = {
  'an address in ip4': { records: { 'a.com': spf('v=spf1 ip4:192.0.2.0/24 -all') }, says: 'pass' },
  'one that is not': { records: { 'a.com': spf('v=spf1 ip4:198.51.100.0/24 -all') }, says: 'fail' },
  '~all': { records: { 'a.com': spf('v=spf1 ~all') }, says: 'softfail' },
  '?all': { records: { 'a.com': spf('v=spf1 ?all') }, says: 'neutral' },
  'nothing that matches': { records: { 'a.com': spf('v=spf1 ip4:198.51.100.1') }, says: 'neutral' },
  'no record': { records: { 'a.com': spf('something else') }, says: 'none' },
  'no name': { records: {}, says: 'none' },
  'two records': { records: { 'a.com': spf('v=spf1 -all', 'v=spf1 +all') }, says: 'permerror' },
  'a version of tomorrow': { records: { 'a.com': spf('v=spf10 +all') }, says: 'none' },
  'an unknown mechanism': { records: { 'a.com': spf('v=spf1 maybe:a.com +all') }, says: 'permerror' },
  'an address that is none': { records: { 'a.com': spf('v=spf1 ip4:192.0.2.300 -all') }, says: 'permerror' },
  'a mistake behind what matches': { records: { 'a.com': spf('v=spf1 +all ip4:192.0.2.300') }, says: 'permerror' },
  'a name server that fails': { records: { 'a.com': 'servfail' }, says: 'temperror' },
  'a record in capitals': { records: { 'a.com': spf('V=SPF1 IP4:192.0.2.1 -ALL') }, says: 'pass' },
  ip6: { records: { 'a.com': spf('v=spf1 ip6:2001:db8::/32 -all') }, address: '2001:db8::7', says: 'pass' },
  'ip6 for a client of IPv4': { records: { 'a.com': spf('v=spf1 ip6:::/0 -all') }, says: 'fail' },
  'IPv4 inside IPv6': {
    records: { 'a.com': spf('v=spf1 ip4:192.0.2.1 -all') },
    address: '::ffff:192.0.2.1',
    says: 'pass',
  },
  a: { records: { 'a.com': { ...spf('v=spf1 a -all'), A: ['192.0.2.1'] } }, says: 'pass' },
  'a with /24': {
    records: { 'a.com': spf('v=spf1 a:w.a.com/24 -all'), 'w.a.com': { A: ['192.0.2.200'] } },
    says: 'pass',
  },
  'a of a name that fails': {
    records: { 'a.com': spf('v=spf1 a:w.a.com -all'), 'w.a.com': 'refused' },
    says: 'temperror',
  },
  'a with //64': {
    records: { 'a.com': spf('v=spf1 a:w.a.com//64 -all'), 'w.a.com': { AAAA: ['2001:db8::1'] } },
    address: '2001:db8::ffff',
    says: 'pass',
  },
  mx: {
    records: { 'a.com': { ...spf('v=spf1 mx -all'), MX: ['10 m.a.com'] }, 'm.a.com': { A: ['192.0.2.1'] } },
    says: 'pass',
  },
  'mx of more than ten names': {
    records: { 'a.com': { ...spf('v=spf1 mx -all'), MX: Array.from({ length: 11 }, (_, i) => `${i} m${i}.a.com`) } },
    says: 'permerror',
  },
  ptr: {
    records: {
      'a.com': spf('v=spf1 ptr -all'),
      '1.2.0.192.in-addr.arpa': { PTR: ['w.a.com'] },
      'w.a.com': { A: ['192.0.2.1'] },
    },
    says: 'pass',
  },
  'ptr of a name that does not lead back': {
    records: {
      'a.com': spf('v=spf1 ptr -all'),
      '1.2.0.192.in-addr.arpa': { PTR: ['w.a.com'] },
      'w.a.com': { A: ['192.0.2.2'] },
    },
    says: 'fail',
  },
  'exists, with macros': {
    records: {
      'a.com': spf('v=spf1 exists:%{ir}.%{v}._spf.%{d2} -all'),
      '1.2.0.192.in-addr._spf.a.com': { A: ['127.0.0.2'] },
    },
    says: 'pass',
  },
  'a macro of the sender': {
    records: {
      'a.com': spf('v=spf1 exists:%{l1r-}.%{o}.%{h}.b.com -all'),
      'ann.a.com.mx.x.com.b.com': { A: ['127.0.0.2'] },
    },
    from: 'ann-news@a.com',
    says: 'pass',
  },
  'an unknown macro': { records: { 'a.com': spf('v=spf1 exists:%{z}.a.com -all') }, says: 'permerror' },
  include: {
    records: { 'a.com': spf('v=spf1 include:b.com -all'), 'b.com': spf('v=spf1 ip4:192.0.2.1 -all') },
    says: 'pass',
  },
  'an include that fails does not match': {
    records: { 'a.com': spf('v=spf1 include:b.com ~all'), 'b.com': spf('v=spf1 -all') },
    says: 'softfail',
  },
  'an include without a record': { records: { 'a.com': spf('v=spf1 include:b.com -all') }, says: 'permerror' },
  'an include that nobody answers for': {
    records: { 'a.com': spf('v=spf1 include:b.com -all'), 'b.com': 'servfail' },
    says: 'temperror',
  },
  redirect: {
    records: { 'a.com': spf('v=spf1 redirect=b.com'), 'b.com': spf('v=spf1 ip4:192.0.2.1 -all') },
    says: 'pass',
  },
  'a redirect behind all': {
    records: { 'a.com': spf('v=spf1 -all redirect=b.com'), 'b.com': spf('v=spf1 +all') },
    says: 'fail',
  },
  'a redirect to no record': { records: { 'a.com': spf('v=spf1 redirect=b.com') }, says: 'permerror' },
  'a redirect to itself': { records: { 'a.com': spf('v=spf1 redirect=a.com') }, says: 'permerror' },
  'ten terms that ask': { records: { ...chain(10), 'i10.a.com': spf('v=spf1 +all') }, says: 'pass' },
  'eleven terms that ask': { records: { ...chain(11), 'i11.a.com': spf('v=spf1 +all') }, says: 'permerror' },
  'two that find nothing': { records: { 'a.com': spf('v=spf1 a:x.a.com a:y.a.com +all') }, says: 'pass' },
  'three that find nothing': {
    records: { 'a.com': spf('v=spf1 a:x.a.com a:y.a.com a:z.a.com +all') },
    says: 'permerror',
  },
  'a null sender: HELO is asked about': {
    records: { 'mx.x.com': spf('v=spf1 ip4:192.0.2.1 -all') },
    from: '',
    says: 'pass',
  },
  'a null sender from an address literal': { records: {}, from: '', helo: '[192.0.2.1]', says: 'none' },
  'a name that cannot be': { records: {}, from: 'a@b..com', says: 'none' },
  'a sender of another script': {
    records: { 'xn--bcher-kva.com': spf('v=spf1 ip4:192.0.2.1 -all') },
    from: 'a@bücher.com',
    says: 'pass',
  },
}

const { server, zone } = await startZone(t)

for (const [name, { records, from = 'ann@a.com', address = '192.0.2.1', helo = 'mx.x.com', says }] of Object.entries(
  cases,
)) {
  t.test(`SPF returns ${says}: ${name}`, async t => {
    for (const key of Object.keys(zone)) delete zone[key]
    Object.assign(zone, records)
    const raw = Buffer.from('Subject: Hello\r\n\r\nHi\r\n')
    const { spf } = await checkOrigin({
      address,
      name: null,
      helo,
      mail_from: from,
      rcpt_to: [],
      raw,
      dns_servers: [server],
    })
    t.equal(spf, says)
  })
}
