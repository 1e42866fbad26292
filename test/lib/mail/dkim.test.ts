import { equal } from 'node:assert/strict'
import { createPublicKey, sign as cryptoSign, hash } from 'node:crypto'
import fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import t from 'tap'
import {
  type DkimAlgorithm,
  dkimRecordValue,
  generateDkimKey,
  hashBody,
  loadDkimKey,
  signMessage,
} from '#lib/mail/dkim.ts'
import { type ComposedMessage, composeMessage, type Message, serializeMessage } from '#lib/mail/message.ts'
import { relaxedField } from '#lib/mail/mime/canonical.ts'
import { plainMail } from '#test/support/mail/attachments.ts'

const plain = { ...plainMail, from: { name: 'Acme, Inc.', address: 'news@example.com' } }
const time = plain.date
const unicode = { ...plain, subject: 'Ünïcode 😀 '.repeat(20), to: [{ name: '日本語 '.repeat(20), address: 'a@b.co' }] }
const list = {
  'List-Unsubscribe': `<https://example.com/${'u'.repeat(300)}>, <mailto:u@example.com>`,
  'list-id': ' <a.b> ',
}
const custom = {
  ...list,
  References: '<a@b.co> '.repeat(90),
  Comments: 'a \t b',
  comments: 'ö',
  Keywords: '',
  'X-A': 'a',
}
const repeated = { ...plain, to: [], headers: { Comments: ['one', 'two'], "A_b!#$%&'*+/=?^`{|}~": 'x' } }
const mails: Record<string, Message> = {
  repeated,
  plain,
  empty: { ...plain, text: null, subject: '' },
  multipart: { ...plain, html: '<p>Hi</p>', cc: plain.to, reply_to: plain.to },
  unicode,
  'many headers': { ...unicode, headers: custom },
}

async function makeKey(algorithm: DkimAlgorithm) {
  const { private_key, public_key } = await generateDkimKey(algorithm)
  const record = dkimRecordValue(algorithm, public_key)
  const selector = algorithm === 'rsa-sha256' ? 'mb1' : 'mb1e'
  return { record, key: { domain: 'example.com', selector, algorithm, private_key: loadDkimKey(private_key) } }
}
const rsa = await makeKey('rsa-sha256')
const ed25519 = await makeKey('ed25519-sha256')

const sign = async (message: ComposedMessage, ...keys: (typeof rsa)[]) => {
  const signatures = await signMessage(
    message,
    keys.map(({ key }) => key),
    time,
  )
  return serializeMessage(message, signatures).toString('latin1')
}

/** The result of an independent verifier for each signature, such as `pass`. */
async function verdict(source: string, ...keys: (typeof rsa)[]): Promise<string> {
  const resolver = async (name: string) => {
    const found = keys.find(({ key }) => name === `${key.selector}._domainkey.example.com`)
    return found ? [[found.record]] : []
  }
  const { results } = await dkimVerify(Buffer.from(source), { resolver, strict: true, curTime: time })
  return results.map(({ status }) => status.result).join()
}

t.test('every message verifies with both algorithms', async t => {
  for (const [name, mail] of Object.entries(mails)) {
    const source = await sign(composeMessage(mail), rsa, ed25519)
    t.equal(await verdict(source, rsa, ed25519), 'pass,pass', name)
    t.match(source, /^DKIM-Signature: v=1; a=rsa-.*?\r\nDKIM-Signature: v=1; a=ed25519-.*?\r\nFrom:/s)
  }
})

t.test('each of two signatures equals the one made alone and verifies without the other', async t => {
  const message = composeMessage(mails.multipart ?? plain)
  const fields = await signMessage(message, [rsa.key, ed25519.key], time)
  t.strictSame(fields, [
    ...(await signMessage(message, [rsa.key], time)),
    ...(await signMessage(message, [ed25519.key], time)),
  ])
  for (const [index, key] of [rsa, ed25519].entries()) {
    t.equal(await verdict(serializeMessage(message, fields.slice(index, index + 1)).toString(), key), 'pass')
  }
})

t.test('a verifier without Ed25519 or its key still passes the RSA signature', async t => {
  const source = await sign(composeMessage(plain), rsa, ed25519)
  t.equal(await verdict(source, rsa), 'pass,neutral')
  t.equal(await verdict(source.replace('a=ed25519-sha256', 'a=unknown'), rsa, ed25519), 'pass,neutral')
})

t.test('the DKIM-Signature field has short lines and lists the signed fields', async t => {
  const [field = ''] = await signMessage(composeMessage(mails['many headers'] ?? plain), [rsa.key], time)
  t.notMatch(field, /.{79}|x=/)
  const tags = field.replace(/\s+/g, '')
  t.match(tags, /^DKIM-Signature:v=1;a=rsa-sha256;c=relaxed\/relaxed;d=example.com;s=mb1;t=1793523907;h=/)
  const covered = 'Content-Transfer-Encoding:Content-Type:MIME-Version:Keywords:comments:Comments:References:list-id'
  t.match(tags, `h=${covered}:List-Unsubscribe:Message-ID:Date:Subject:To:From:From;`)
})

t.test('the same message, key and time give the same bytes', async t => {
  const again = () => sign(composeMessage(unicode), rsa, ed25519)
  t.equal(await again(), await again())
})

t.test('any visible change breaks the signature', async t => {
  const source = await sign(composeMessage(mails.multipart ?? plain), rsa, ed25519)
  const changes: [string | RegExp, string][] = [
    ['Subject: Hello', 'Subject: Hallo'],
    ['news@', 'new@'],
    ['09:05:07 +', '09:05:08 +'],
    ['To: ann', 'To: bob'],
    ['Cc: ann', 'Cc: bob'],
    [/^Reply-To.*\r\n/m, ''],
    ['text/html', 'text/plain'],
    ['SGk=', 'SGj='],
    [/$/, 'more'],
    [/^/, 'From: mallory@example.net\r\n'],
    ['\r\n\r\n', '\r\nFrom: mallory@example.net\r\n\r\n'],
  ]
  for (const [from, to] of changes) {
    const changed = source.replace(from, to)
    t.not(changed, source)
    t.notMatch(await verdict(changed, rsa, ed25519), 'pass', `${from} -> ${to}`)
  }
  const others = [await makeKey('rsa-sha256'), await makeKey('ed25519-sha256')]
  t.notMatch(await verdict(source, ...others), 'pass', 'other keys')
})

t.test('changes that relays make do not break the signature', async t => {
  const mail = { ...plain, headers: { 'X-Spam': 'no', 'List-Id': 'a <b.c>' }, html: 'x' }
  const source = await sign(composeMessage(mail), rsa, ed25519)
  const changes: [string | RegExp, string][] = [
    [/^/, 'Received: from a by b\r\n'],
    [/X-Spam: no\r\n/, ''],
    ['List-Id: a <', 'LIST-ID:a\r\n\t <'],
    ['text/plain; ', 'text/plain;\t  '],
    [/$/, '\r\n \r\n\r\n'],
  ]
  for (const [from, to] of changes) {
    const changed = source.replace(from, to)
    t.not(changed, source)
    t.equal(await verdict(changed, rsa, ed25519), 'pass,pass', `${from} -> ${to}`)
  }
})

t.test('any body is canonicalized as the verifier does', async t => {
  const { fields } = composeMessage(plain)
  const pieces = fc.array(fc.constantFrom('a', ' ', '  ', '\t', '\r\n', ' \r\n', '\r\n\r\n', '.'), { maxLength: 12 })
  const property = fc.asyncProperty(pieces, async found => {
    const body = Buffer.from(found.join(''))
    equal(await verdict(await sign({ fields, body }, ed25519), ed25519), 'pass')
  })
  await fc.assert(property, { numRuns: 300, seed: 20261123 })
  t.pass()
})

t.test('signing reproduces the example of RFC 8463 appendix A', t => {
  const seed = Buffer.from('nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=', 'base64')
  const public_key = '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='
  const body = 'Hi.\r\n\r\nWe lost the game.  Are you hungry yet?\r\n\r\nJoe.\r\n'
  const body_hash = '2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8='
  const signature = '/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11BusFa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw=='
  const head = [
    'From: Joe SixPack <joe@football.example.com>',
    'To: Suzie Q <suzie@shopping.example.net>',
    'Subject: Is dinner ready?',
    'Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)',
    'Message-ID: <20030712040037.46341.5F8J@football.example.com>',
    'DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;\r\n d=football.example.com; i=@football.example.com;' +
      '\r\n q=dns/txt; s=brisbane; t=1528637909; h=from : to :\r\n subject : date : message-id : from : subject : date;' +
      `\r\n bh=${body_hash};\r\n b=`,
  ]
  const key = loadDkimKey(Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]))
  const data = hash('sha256', head.map(relaxedField).join('\r\n'), 'buffer')

  t.equal(hashBody(Buffer.from(body)), body_hash)
  t.equal(cryptoSign(null, data, key).toString('base64'), signature)
  t.match(createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64'), public_key.slice(2, -1))
  t.equal(dkimRecordValue('ed25519-sha256', public_key), `v=DKIM1; k=ed25519; p=${public_key}`)
  t.end()
})

t.test('the DKIM record holds the key and its type', async t => {
  t.match(rsa.record, /^v=DKIM1; k=rsa; p=MIIBIjAN[\w+/]{380,}={0,2}$/)
  t.match(ed25519.record, /^v=DKIM1; k=ed25519; p=[\w+/]{43}=$/)
})

t.test('a key of another algorithm is refused', async t => {
  const message = composeMessage(plain)
  await t.rejects(signMessage(message, [{ ...rsa.key, algorithm: 'ed25519-sha256' }], time), TypeError)
  await t.rejects(signMessage(message, [rsa.key, { ...ed25519.key, algorithm: 'rsa-sha256' }], time), TypeError)
  t.throws(() => loadDkimKey(Buffer.from('no key')))
})
