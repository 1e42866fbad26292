import t from 'tap'
import { checkRecord } from '#lib/domains/check_record.ts'
import type { DomainRecord } from '#lib/domains/domain_records.ts'
import { createDns } from '#lib/net/dns.ts'
import { type Records, SHORT_TIMES, startZone, type Trouble } from '#test/support/dns/name_server.ts'

const { server, zone } = await startZone(t)
const dns = createDns([server], SHORT_TIMES)

const P = `MIIBIjANBgkqhkiG9w0BAQ${'EFAAOCAQ8AMIIBCgKC'.repeat(20)}`
const wanted: Record<'dkim' | 'spf' | 'mx' | 'dmarc' | 'inbound' | 'cname', DomainRecord> = {
  dkim: text('DKIM', 'mb1._domainkey.acme.com', `v=DKIM1; k=rsa; p=${P}`),
  spf: text('SPF', 'send.acme.com', 'v=spf1 include:mail.server.com ~all'),
  mx: { ...text('SPF', 'send.acme.com', 'feedback.mail.server.com'), type: 'MX', priority: 10 },
  dmarc: text('DMARC', '_dmarc.mail.acme.com', 'v=DMARC1; p=none;'),
  inbound: { ...text('Receiving', 'acme.com', 'inbound.mail.server.com'), type: 'MX', priority: 10 },
  cname: { ...text('Tracking', 'track.acme.com', 'links.mail.server.com'), type: 'CNAME' },
}

function text(record: DomainRecord['record'], name: string, value: string): DomainRecord {
  return { record, name, type: 'TXT', value, purpose: 'sending' }
}

type Case = [what: string, found: Record<string, Records | Trouble> | string[], status: string, problem?: RegExp]

/** A list contains the DNS records of the same name and type as the checked record. */
const cases: Record<keyof typeof wanted, Case[]> = {
  dkim: [
    ['as required', [`v=DKIM1; k=rsa; p=${P}`], 'verified'],
    [
      'with white space and other tags',
      [`v=DKIM1;h=sha256 ; t=s:y; n=a note; p=${P.match(/.{1,50}/g)?.join(' ')};`],
      'verified',
    ],
    ['without v= and k=', [`p=${P}`], 'verified'],
    ['beside texts of others', ['google-site=1', `p=${P}`], 'verified'],
    ['of services with email', [`s=other:email; p=${P}`], 'verified'],
    ['revoked', ['v=DKIM1; p='], 'failed', /revoked/],
    ['another', [`v=DKIM1; p=${P.replace('MIIB', 'MIIC')}`], 'failed', /another key/],
    ['twice', [`p=${P}`, 'v=DKIM1; p=other'], 'failed', /2 keys: leave only one/],
    ['of another kind', [`k=ed25519; p=${P}`], 'failed', /k=ed25519 where k=rsa/],
    ['with quotation marks', [`"v=DKIM1; k=rsa; p=${P.slice(0, 200)}" "${P.slice(200)}"`], 'failed', /quotation marks/],
    ['with a backslash', [`v=DKIM1\\; k=rsa\\; p=${P}\\`], 'failed', /backslash/],
    ['cut off', [`v=DKIM1; k=rsa; p=${P.slice(0, 236)}`], 'failed', /cut off after 236 of/],
    ['split', [`v=DKIM1; k=rsa; p=${P.slice(0, 236)}`, P.slice(236)], 'failed', /split over several records/],
    ['for SHA-1 alone', [`h=sha1; p=${P}`], 'failed', /sha256/],
    ['for other services', [`s=tlsrpt; p=${P}`], 'failed', /email/],
    ['of another version', [`v=DKIM2; p=${P}`], 'failed', /v=DKIM2/],
    ['a text that is not a key', ['hello'], 'failed', /no key/],
    [
      'an alias',
      { 'mb1._domainkey.acme.com': { CNAME: ['key.acme.com'] }, 'key.acme.com': { TXT: [`p=${P}`] } },
      'verified',
    ],
    ['not published', {}, 'missing', /no such record/],
    ['with records of another type alone', { 'mb1._domainkey.acme.com': { A: ['192.0.2.1'] } }, 'missing'],
    [
      'with a lookup that fails',
      { 'mb1._domainkey.acme.com': 'servfail' },
      'temporary_failure',
      /could not be queried/,
    ],
    ['without a response', { 'mb1._domainkey.acme.com': 'silent' }, 'temporary_failure'],
  ],
  spf: [
    ['as required', ['v=spf1 include:mail.server.com ~all'], 'verified'],
    ['among others, in capitals', ['V=SPF1 mx  +INCLUDE:Mail.Server.com include:b.com -all'], 'verified'],
    ['beside other texts', ['v=spf10', 'x', 'v=spf1 include:mail.server.com'], 'verified'],
    ['twice', ['v=spf1 include:mail.server.com -all', 'v=spf1 mx -all'], 'failed', /more than one/],
    ['without us', ['v=spf1 include:mail.server.com.org ~all'], 'failed', /no include:mail.server.com/],
    ['turning us away', ['v=spf1 -include:mail.server.com ~all'], 'failed', /-include:mail.server.com/],
    ['with us after all', ['v=spf1 ~all include:mail.server.com'], 'failed', /after ~all/],
    ['with quotation marks', ['"v=spf1 include:mail.server.com ~all"'], 'failed', /quotation marks/],
    [
      'with terms of every kind',
      [
        'v=spf1 +mx a/24 mx:b.com/24//64 a:%{d}.b.com ip4:192.0.2.0/24 ip6:2001:db8::/32 -ip6:::1 ptr ?exists:%{ir}.b.com  include:mail.server.com exp=e.%{d} x-y=: -all ',
      ],
      'verified',
    ],
    ['ending in a semicolon', ['v=spf1 include:mail.server.com ~all;'], 'failed', /invalid term ~all;, so/],
    [
      'with a space in a term',
      ['v=spf1 ip4: 192.0.2.1 include:mail.server.com ~all'],
      'failed',
      /invalid term ip4:, so/,
    ],
    ['with a misspelt term', ['v=spf1 inclde:b.com include:mail.server.com'], 'failed', /invalid term inclde:b.com/],
    ['with a wrong address', ['v=spf1 ip4:192.0.2.256 include:mail.server.com'], 'failed', /term ip4:192.0.2.256/],
    ['with too long a prefix', ['v=spf1 ip6:2001:db8::/129 include:mail.server.com'], 'failed', /db8::\/129/],
    ['none', ['hello'], 'failed', /no SPF record/],
  ],
  mx: [
    ['as required', ['10 Feedback.mail.server.com'], 'verified'],
    ['before others', ['20 mx.other.com', '5 feedback.mail.server.com'], 'verified'],
    [
      'beside others',
      ['10 mx.other.com', '10 feedback.mail.server.com'],
      'failed',
      /mx.other.com with as low a number/,
    ],
    ['behind others', ['1 mx.other.com', '10 feedback.mail.server.com'], 'failed', /mx.other.com with a lower number/],
    ['others', ['10 mx.other.com'], 'failed', /leads to mx.other.com, not to feedback/],
    ['a null MX', ['0 .'], 'failed', /null MX/],
    ['with the zone behind it', ['10 feedback.mail.server.com.acme.com'], 'failed', /with a dot at its end/],
  ],
  inbound: [
    ['before others', ['10 inbound.mail.server.com', '20 mx.other.com'], 'verified'],
    ['behind others', ['10 inbound.mail.server.com', '1 mx.other.com'], 'failed', /lower number/],
  ],
  dmarc: [
    ['as required', ['v=DMARC1; p=none;'], 'verified'],
    ['stricter', ['v=DMARC1 ; p=reject; rua=mailto:x@y.com'], 'verified'],
    ['of the registered domain', { '_dmarc.acme.com': { TXT: ['v=DMARC1; p=quarantine'] } }, 'verified'],
    [
      'of the domain itself first',
      { '_dmarc.mail.acme.com': { TXT: ['v=DMARC1;'] }, '_dmarc.acme.com': { TXT: ['v=DMARC1; p=none'] } },
      'failed',
      /no policy/,
    ],
    ['twice', ['v=DMARC1; p=none', 'v=DMARC1; p=reject'], 'failed', /more than one/],
    ['in small letters', ['v=dmarc1; p=none'], 'failed', /begin with `v=DMARC1;`/],
    ['other texts', ['hello'], 'missing'],
    ['with a lookup that fails', { '_dmarc.acme.com': 'refused' }, 'temporary_failure'],
  ],
  cname: [
    ['as required', ['Links.mail.server.com'], 'verified'],
    ['to another name', ['links.other.com'], 'failed', /leads to links.other.com, not to links.mail/],
    ['flattened', { 'track.acme.com': { A: ['192.0.2.1'] } }, 'failed', /192.0.2.1 in place of a CNAME/],
    ['none', {}, 'missing'],
    ['with a lookup that fails', { 'track.acme.com': 'servfail' }, 'temporary_failure'],
  ],
}

for (const [kind, rows] of Object.entries(cases) as [keyof typeof wanted, Case[]][]) {
  for (const [what, found, status, problem] of rows) {
    t.test(`${kind}, ${what}: ${status}`, async t => {
      const record = wanted[kind]
      for (const name of Object.keys(zone)) delete zone[name]
      Object.assign(zone, Array.isArray(found) ? { [record.name]: { [record.type]: found } } : found)
      const check = await checkRecord(dns, record)
      t.match(check, { status, problem: problem ?? (status === 'verified' ? null : String) })
      t.notMatch(check.problem ?? '', /\0|\n/)
    })
  }
}

t.test('the problem quotes foreign records in short, without control characters', async t => {
  zone['track.acme.com'] = { CNAME: ['a\u0001b.com'] }
  zone['send.acme.com'] = { MX: Array.from({ length: 50 }, (_, n) => `10 mx${n}.other.com`) }
  t.match((await checkRecord(dns, wanted.cname)).problem, /^[\x20-\x7e]+$/)
  const { problem } = await checkRecord(dns, wanted.mx)
  t.match(problem, /and others/)
  t.ok((problem?.length ?? 0) < 300)
})
