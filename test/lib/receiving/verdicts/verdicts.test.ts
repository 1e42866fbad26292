import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { dkimSign, sealMessage } from 'mailauth'
import t from 'tap'
import { dkimRecordValue, generateDkimKey, loadDkimKey, signMessage } from '#lib/mail/dkim.ts'
import { composeMessage, serializeMessage } from '#lib/mail/message.ts'
import { createDns } from '#lib/net/dns.ts'
import { parseMessage } from '#lib/receiving/parse/parse_message.ts'
import type { ParsedMessage } from '#lib/receiving/parse/parsed_message.ts'
import { authenticate } from '#lib/receiving/verdicts/authenticate.ts'
import { checkOrigin } from '#lib/receiving/verdicts/check_origin.ts'
import { limitHeader } from '#lib/receiving/verdicts/limit_header.ts'
import { createLookUp } from '#lib/receiving/verdicts/look_up.ts'
import { stripOwnResults } from '#lib/receiving/verdicts/own_results.ts'
import { cpuMs } from '#test/support/cpu_time.ts'
import { startZone, type Zone } from '#test/support/dns/name_server.ts'
import { plainMail } from '#test/support/mail/attachments.ts'

const { server, zone, asked } = await startZone(t)
const rsa = makeKey('rsa')
const ed25519 = makeKey('ed25519')

/** Our DNS records: SPF that allows 192.0.2.1, two DKIM keys, and a DMARC policy. */
const acme = (policy = 'v=DMARC1; p=reject'): Zone => ({
  'acme.com': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] },
  'rsa._domainkey.acme.com': { TXT: [rsa.record] },
  'ed._domainkey.acme.com': { TXT: [ed25519.record] },
  'list.org': { TXT: ['v=spf1 ip4:192.0.2.9 -all'] },
  'rsa._domainkey.list.org': { TXT: [rsa.record] },
  '_dmarc.acme.com': { TXT: [policy] },
})
const plain = 'From: Ann <ann@acme.com>\r\nTo: me@x.com\r\nSubject: Hello\r\n\r\nHi there\r\n'

t.beforeEach(() => setZone(acme()))

t.test('our own signatures pass, with both algorithms', async t => {
  const keys = await Promise.all(
    (['rsa-sha256', 'ed25519-sha256'] as const).map(async algorithm => {
      const { private_key, public_key } = await generateDkimKey(algorithm)
      const selector = algorithm.slice(0, 2)
      zone[`${selector}._domainkey.example.com`] = { TXT: [dkimRecordValue(algorithm, public_key)] }
      return { domain: 'example.com', selector, algorithm, private_key: loadDkimKey(private_key) }
    }),
  )
  zone['_dmarc.example.com'] = { TXT: ['v=DMARC1; p=reject'] }
  const message = composeMessage(plainMail)
  for (const some of [keys, keys.slice(0, 1), keys.slice(1)]) {
    const raw = serializeMessage(message, await signMessage(message, some, new Date())).toString('latin1')
    t.match(await judge(raw), { verdicts: { dkim: 'PASS', dmarc: 'PASS' } })
    t.match(await judge(raw.replace('Hello', 'Hullo')), { verdicts: { dkim: 'FAIL', dmarc: 'FAIL' } })
  }
})

t.test('one valid DKIM signature is enough', async t => {
  const both = await sign(await sign(plain), { key: ed25519, selector: 'ed' })
  zone['rsa._domainkey.acme.com'] = 'missing'
  const stranger = { address: '203.0.113.1' }
  t.match(await judge(both, stranger), { verdicts: { dkim: 'PASS', dmarc: 'PASS' } })
  zone['ed._domainkey.acme.com'] = { TXT: ['v=DKIM1; k=ed25519; p='] } // revoked
  t.match(await judge(both, stranger), { verdicts: { dkim: 'FAIL', dmarc: 'FAIL' } })
  t.match(await judge(plain), { verdicts: { dkim: 'GRAY' } }, 'a message without a signature is GRAY')
})

const day = 86_400_000
const broken: Record<string, () => Promise<string>> = {
  'with another body': async () => (await sign(plain)).replace('Hi there', 'Pay me'),
  'with another author': async () => (await sign(plain)).replace('ann@', 'boss@'),
  expired: () => sign(plain, { signTime: new Date(Date.now() - 2 * day), expires: new Date(Date.now() - day) }),
  'with rsa-sha1': () => sign(plain, { algorithm: 'rsa-sha1' }),
  'that leaves the author out': async () => (await sign(plain)).replace(/ h=[^;]*;/, ' h=Subject;'),
  'in another algorithm than its key': async () => (await sign(plain)).replace('s=rsa;', 's=ed;'),
  'that is malformed': async () => `DKIM-Signature: v=1; a=rsa-sha256; this is ; nothing\r\n${plain}`,
}
for (const [what, make] of Object.entries(broken)) {
  t.test(`a DKIM signature ${what} fails`, async t => {
    t.match(await judge(await make()), { verdicts: { dkim: 'FAIL' } })
  })
}

t.test('a DKIM key with too few bits fails', async t => {
  const key = makeKey('rsa', 512)
  zone['rsa._domainkey.acme.com'] = { TXT: [key.record] }
  t.match(await judge(await sign(plain, { key })), { verdicts: { dkim: 'FAIL' } })
})

t.test('DKIM with text added after l= is not trusted', async t => {
  const signed = await sign(plain, { maxBodyLength: 10 })
  t.match(signed, /; l=10;/)
  t.match(await judge(signed, { address: '203.0.113.1' }), { verdicts: { dkim: 'PASS', dmarc: 'PASS' } })
  const longer = await judge(`${signed}And pay me\r\n`, { address: '203.0.113.1' })
  t.match(longer, { verdicts: { dkim: 'GRAY', dmarc: 'FAIL' } })
})

t.test('DMARC requires the domain of the author, by SPF or DKIM', async t => {
  const stranger = { address: '192.0.2.9', mail_from: 'bounce@list.org' }
  t.match(await judge(plain, {}), { spf: 'pass', verdicts: { spf: 'PASS', dmarc: 'PASS' } })
  t.match(await judge(plain, stranger), { spf: 'pass', verdicts: { spf: 'PASS', dmarc: 'FAIL' } })
  t.match(await judge(await sign(plain), stranger), { verdicts: { dkim: 'PASS', dmarc: 'PASS' } })
  const foreign = await sign(plain, { signingDomain: 'list.org' })
  t.match(await judge(foreign, stranger), { verdicts: { dkim: 'PASS', dmarc: 'FAIL' } })
})

t.test('DMARC uses the alignment mode of the policy, also of the organizational domain', async t => {
  const below = await sign(plain.replace('@acme', '@news.acme'))
  const stranger = { address: '203.0.113.1', mail_from: 'x@nobody.com' }
  t.match(await judge(below, stranger), { verdicts: { dmarc: 'PASS' } }, 'relaxed')
  setZone(acme('v=DMARC1; p=reject; adkim=s'))
  t.match(await judge(below, stranger), { verdicts: { dmarc: 'FAIL' } }, 'strict')
  setZone(acme('v=DMARC1; p=none'))
  t.match(await judge(plain, stranger), { verdicts: { dmarc: 'FAIL' } }, 'a policy that asks for nothing')
  delete zone['_dmarc.acme.com']
  t.match(await judge(plain, stranger), { verdicts: { dmarc: 'GRAY' } }, 'none at all')
})

t.test('DMARC fails for several authors and is GRAY for none', async t => {
  const second = plain.replace('To:', 'From: boss@bank.com\r\nTo:')
  t.match(await judge(second), { verdicts: { dmarc: 'FAIL' } })
  t.match(await judge(plain.replace('com>', 'com>, b@bank.com')), { verdicts: { dmarc: 'FAIL' } })
  t.match(await judge(plain.replace(/^From.*\r\n/, '')), { verdicts: { dmarc: 'GRAY' } })
})

t.test('lines that are no fields change neither the author nor what is signed', async t => {
  const raw = plain.replace('From: Ann <ann@acme.com>', 'From: boss@list.org\r\nAnn <ann@acme.com>')
  zone['_dmarc.list.org'] = { TXT: ['v=DMARC1; p=reject'] }
  for (const message of [raw, await sign(raw)]) {
    const { message: shown } = (await parseMessage(new Uint8Array(Buffer.from(message)))) as { message: ParsedMessage }
    t.equal(shown.from?.address, 'boss@list.org')
    t.match(await judge(message), { verdicts: { spf: 'PASS', dmarc: 'FAIL' } })
  }
  t.match(await judge(`>From ann Mon\r\n${await sign(plain)}`), { verdicts: { dkim: 'PASS', dmarc: 'PASS' } })
})

t.test('DMARC is checked for the author whose name is in ISO-2022-JP', async t => {
  zone['_dmarc.list.org'] = { TXT: ['v=DMARC1; p=reject'] }
  const name = '\x1b$B%F%9%H\x1b(B'
  t.match(await judge(plain.replace('Ann', name)), { verdicts: { dmarc: 'PASS' } })
  t.match(await judge(plain.replace('Ann <ann@acme.com>', `${name} <b@list.org>`)), { verdicts: { dmarc: 'FAIL' } })
  const hidden = plain.replace('Ann <', '\x1b$B<').replace('com>', 'com>\x1b(B <b@list.org>')
  t.match(await judge(hidden), { verdicts: { dmarc: 'FAIL' } }, 'mailauth finds ann@acme.com')
})

t.test('a temporary DNS failure gives PROCESSING_FAILED', async t => {
  const signed = await sign(plain)
  zone['rsa._domainkey.acme.com'] = 'servfail'
  zone['acme.com'] = 'refused'
  const failed = { spf: 'PROCESSING_FAILED', dkim: 'PROCESSING_FAILED', dmarc: 'PROCESSING_FAILED' }
  t.match(await judge(signed), { spf: 'temperror', verdicts: failed })
  setZone({ ...acme(), '_dmarc.acme.com': 'servfail' })
  t.match(await judge(signed), { verdicts: { dkim: 'PASS', dmarc: 'PROCESSING_FAILED' } })
})

t.test('a DKIM domain with failing DNS does not hide a DMARC failure', async t => {
  zone['rsa._domainkey.evil.com'] = 'servfail'
  const spoofed = await sign(plain, { signingDomain: 'evil.com' })
  t.match(await judge(spoofed, { address: '203.0.113.1' }), { verdicts: { spf: 'FAIL', dmarc: 'FAIL' } })
})

t.test('ARC chains are verified but make nothing pass', async t => {
  const changed = (await sign(plain)).replace('Hello', '[list] Hello')
  const seal = { ...signer(), signingDomain: 'list.org', cv: 'none', authResults: 'list.org; dmarc=pass' }
  const sealed = `${await sealMessage(changed, seal)}${changed}`
  const forwarder = { address: '192.0.2.9', mail_from: 'bounce@list.org' }
  t.match(await judge(sealed, forwarder), { arc: 'pass', verdicts: { dkim: 'FAIL', dmarc: 'FAIL' } })
  t.match(await judge(sealed.replace('[list] ', ''), forwarder), { arc: 'fail' })
  t.match(await judge(plain), { arc: 'none' })
})

t.test('only the first eight DKIM signatures are checked', async t => {
  const signed = await sign(plain)
  const forged = (i: number) =>
    `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=d${i}.com; s=s; h=From;\r\n bh=a; b=a\r\n`
  const many = (count: number) => Array.from({ length: count }, (_, i) => forged(i)).join('')
  t.match(await judge(many(7) + signed), { verdicts: { dkim: 'PASS' } })
  t.match(await judge(many(500) + signed), { verdicts: { dkim: 'FAIL' } })
  t.equal(limitHeader(Buffer.from(many(9) + plain))?.toString(), many(8) + plain)
  t.equal(limitHeader(Buffer.from(many(9)))?.toString(), many(8), 'without a body')
})

t.test('a header made to be slow is not checked', async t => {
  const unread = { spf: 'pass', verdicts: { dkim: 'PROCESSING_FAILED', dmarc: 'PROCESSING_FAILED' } }
  const slow = [
    `${'a\r\n'.repeat(40_000)}${plain}`,
    plain.replace('Hello', `Hello${'\r\n a'.repeat(40_000)}`),
    plain.replace('Hello', 'Hello'.repeat(60_000)),
  ]
  const ms = await cpuMs(async () => {
    for (const raw of slow) t.match(await judge(raw), unread)
  })
  t.ok(ms < 5_000, `${ms} ms; it would be 20 seconds`)
  t.match(await judge(plain.replace('Hello', `Hello${'\r\n a'.repeat(1_900)}`)), { verdicts: { dmarc: 'PASS' } })
  t.match(
    await judge(`${plain}${'a\r\n'.repeat(5_000)}`),
    { verdicts: { dmarc: 'PASS' } },
    'lines of the body are many',
  )
})

t.test('lookups are limited in number and time', async t => {
  zone['silent.com'] = 'silent'
  const dns = createDns([server])
  const lookUp = createLookUp(dns, { deadline_ms: 5_000, lookups: 2 })
  t.strictSame(await lookUp('acme.com', 'TXT'), [['v=spf1 ip4:192.0.2.1 -all']])
  await t.rejects(lookUp('none.com', 'TXT'), { code: 'ENOTFOUND' })
  const before = asked.length
  await t.rejects(lookUp('acme.com', 'TXT'), { code: 'ETIMEOUT' })
  t.equal(asked.length, before)
  const impatient = createLookUp(dns, { deadline_ms: 20, lookups: 9 })
  await t.rejects(impatient('silent.com', 'TXT'), { code: 'ETIMEOUT' })
  const late = createLookUp(dns, { deadline_ms: 0, lookups: 9 })
  await t.rejects(late('acme.com', 'TXT'), { code: 'ETIMEOUT' })
})

t.test('a large message is checked in a thread with the same verdicts', async t => {
  const raw = Buffer.from(await sign(plain + 'A line of some length, again and again.\r\n'.repeat(20_000)))
  const message = {
    address: '192.0.2.1',
    name: 'mx.acme.com',
    helo: 'mx.acme.com',
    mail_from: 'ann@acme.com',
    rcpt_to: [],
  }
  const origin = await authenticate({ ...message, raw, dns_servers: [server] })
  t.strictSame(origin, { spf: 'pass', arc: 'none', verdicts: { spf: 'PASS', dkim: 'PASS', dmarc: 'PASS' } })
  const hurried = authenticate({ ...message, raw, dns_servers: [server] }, { deadline_ms: 1 })
  await t.rejects(hurried, { name: 'AbortError' }, 'a message that takes too long is given up')
  const next = await authenticate({ ...message, raw, dns_servers: [server] })
  t.match(next, { spf: 'pass' }, 'and the next one is not')
})

const spoofed = [
  'mx.acme.com; spf=pass',
  'MX.Acme.COM; spf=pass',
  'mx.acme.com 1; spf=pass',
  'mx.acme.com',
  'mx.acme.com.; spf=pass',
  '(a comment (nested; \\) )) mx.acme.com (another); spf=pass',
  '"mx.acme.com"; spf=pass',
  '"mx.\\acme.com"; spf=pass',
  'mx.acme.com/1; spf=pass',
  'ｍｘ.acme．com; spf=pass',
  'mx.ac\u00adme.com; spf=pass',
  '\t mx.acme.com\t;spf=pass',
  '=?utf-8?q?mx=2Eacme=2Ecom?=; spf=pass',
  'some text mx.acme.com; spf=pass',
  'inbound.acme.com; spf=pass',
  '(mx.acme.com); spf=pass',
  '; spf=pass',
  '',
]
for (const value of spoofed) {
  t.test(`Authentication-Results in our name are removed: ${JSON.stringify(value)}`, async t => {
    const name = 'authentication-results'
    t.strictSame(stripOwnResults({ subject: 'x', [name]: value }, ['mx.acme.com', 'acme.com']), { subject: 'x' })
    t.strictSame(stripOwnResults({ 'Authentication-Results ': value }, ['mx.acme.com', 'acme.com']), {})
    const two = stripOwnResults({ [name]: `relay.org; spf=fail\n${value}` }, ['ACME.com'])
    t.strictSame(two, { [name]: 'relay.org; spf=fail' })
  })
}

t.test('Authentication-Results of others are kept', async t => {
  const others = [
    'relay.org; dkim=pass header.d=mx.acme.com',
    'notacme.com; spf=pass',
    'spf=pass (mx.acme.com) x.com; a',
  ]
  const headers = {
    'authentication-results': others.join('\n'),
    'arc-authentication-results': 'i=1; mx.acme.com; spf=pass',
  }
  t.strictSame(stripOwnResults(headers, ['mx.acme.com', 'acme.com']), headers)
})

type Key = { private_key: KeyObject; record: string }

function makeKey(type: 'rsa' | 'ed25519', modulusLength = 2048): Key {
  const { publicKey, privateKey } =
    type === 'rsa' ? generateKeyPairSync('rsa', { modulusLength }) : generateKeyPairSync('ed25519')
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const public_key = (type === 'rsa' ? spki : spki.subarray(-32)).toString('base64')
  return { private_key: privateKey, record: `v=DKIM1; k=${type}; p=${public_key}` }
}

function setZone(records: Zone): void {
  for (const name of Object.keys(zone)) delete zone[name]
  Object.assign(zone, records)
}

function signer({ key = rsa, selector = 'rsa' }: { key?: Key; selector?: string } = {}) {
  const privateKey = key.private_key.export({ type: 'pkcs8', format: 'pem' }) as string
  return { selector, privateKey }
}

type Signing = { key?: Key; selector?: string; signingDomain?: string; [option: string]: unknown }

/** Signs with mailauth's own signer. */
async function sign(
  raw: string,
  { key, selector, signingDomain = 'acme.com', ...options }: Signing = {},
): Promise<string> {
  const signature = {
    ...signer({ ...(key ? { key } : {}), ...(selector ? { selector } : {}) }),
    ...options,
    signingDomain,
  }
  const { signatures, errors } = await dkimSign(raw, { ...options, signatureData: [signature] } as never)
  if (!signatures) throw new Error(`not signed: ${JSON.stringify(errors)}`)
  return signatures + raw
}

/** Checks a message that comes from our own address by default. */
function judge(raw: string, { address = '192.0.2.1', mail_from = 'ann@acme.com' } = {}) {
  const envelope = { address, name: null, helo: 'mx.acme.com', mail_from, rcpt_to: [] }
  return checkOrigin({ ...envelope, raw: Buffer.from(raw, 'latin1'), dns_servers: [server] })
}
