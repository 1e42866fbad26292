import { equal } from 'node:assert/strict'
import fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import t from 'tap'
import { type DkimAlgorithm, dkimRecordValue, generateDkimKey, loadDkimKey, signMessage } from '../../lib/dkim.ts'
import { type ComposedMessage, composeMessage, type Message, serializeMessage } from '../../lib/message.ts'
import { plainMail } from './attachments.ts'

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
const mails: Record<string, Message> = {
  plain,
  empty: { ...plain, text: null, subject: '' },
  multipart: { ...plain, html: '<p>Hi</p>', cc: plain.to, reply_to: plain.to },
  unicode,
  'many headers': { ...unicode, headers: custom },
}

async function makeKey(algorithm: DkimAlgorithm) {
  const { private_key, public_key } = await generateDkimKey(algorithm)
  const record = dkimRecordValue(algorithm, public_key)
  return { record, key: { domain: 'example.com', selector: 'mb1', algorithm, private_key: loadDkimKey(private_key) } }
}
const rsa = await makeKey('rsa-sha256')
const ed25519 = await makeKey('ed25519-sha256')

const sign = async (message: ComposedMessage, { key } = ed25519) =>
  serializeMessage(message, [await signMessage(message, key, time)]).toString('latin1')

/** What an independent verifier says: `pass`, or what else. */
async function verdict(source: string, { record } = ed25519): Promise<string> {
  const resolver = async (name: string) => (name === 'mb1._domainkey.example.com' ? [[record]] : [])
  const { results } = await dkimVerify(Buffer.from(source), { resolver, strict: true, curTime: time })
  return results.map(({ status }) => status.result).join()
}

t.test('every mail verifies, with either algorithm', async t => {
  for (const [name, mail] of Object.entries(mails)) {
    t.equal(await verdict(await sign(composeMessage(mail), rsa), rsa), 'pass', `${name}, RSA`)
    t.equal(await verdict(await sign(composeMessage(mail))), 'pass', `${name}, Ed25519`)
  }
})

t.test('the signature is written in short lines and says what it covers', async t => {
  const field = await signMessage(composeMessage(mails['many headers'] ?? plain), rsa.key, time)
  t.notMatch(field, /.{79}|x=/)
  const tags = field.replace(/\s+/g, '')
  t.match(tags, /^DKIM-Signature:v=1;a=rsa-sha256;c=relaxed\/relaxed;d=example.com;s=mb1;t=1793523907;h=/)
  const covered = 'Content-Transfer-Encoding:Content-Type:MIME-Version:Keywords:comments:Comments:References:list-id'
  t.match(tags, `h=${covered}:List-Unsubscribe:Message-ID:Date:Subject:To:From:From;`)
})

t.test('the same mail, key and time give the same bytes', async t => {
  for (const keys of [rsa, ed25519]) {
    t.equal(await sign(composeMessage(unicode), keys), await sign(composeMessage(unicode), keys))
  }
})

t.test('a change to what the reader sees breaks the signature', async t => {
  const source = await sign(composeMessage(mails.multipart ?? plain))
  const changes: [string | RegExp, string][] = [
    ['Subject: Hello', 'Subject: Hallo'],
    ['news@', 'new@'],
    ['09:05:07 +', '09:05:08 +'],
    ['To: ann', 'To: bob'],
    ['Cc: ann', 'Cc: bob'],
    [/Reply-To.*\r\n/, ''],
    ['text/html', 'text/plain'],
    ['SGk=', 'SGj='],
    [/$/, 'more'],
    [/^/, 'From: mallory@example.net\r\n'],
    ['\r\n\r\n', '\r\nFrom: mallory@example.net\r\n\r\n'],
  ]
  for (const [from, to] of changes) {
    const changed = source.replace(from, to)
    t.not(changed, source)
    t.not(await verdict(changed), 'pass', `${from} -> ${to}`)
  }
  t.not(await verdict(source, await makeKey('ed25519-sha256')), 'pass', 'another key')
})

t.test('what relays do on the way does not break it', async t => {
  const source = await sign(composeMessage({ ...plain, headers: { 'X-Spam': 'no', 'List-Id': 'a <b.c>' }, html: 'x' }))
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
    t.equal(await verdict(changed), 'pass', `${from} -> ${to}`)
  }
})

t.test('any body is canonicalized as the verifier does it', async t => {
  const { fields } = composeMessage(plain)
  const pieces = fc.array(fc.constantFrom('a', ' ', '  ', '\t', '\r\n', ' \r\n', '\r\n\r\n', '.'), { maxLength: 12 })
  const property = fc.asyncProperty(pieces, async found => {
    const body = Buffer.from(found.join(''))
    equal(await verdict(await sign({ fields, body })), 'pass')
  })
  await fc.assert(property, { numRuns: 300, seed: 20261123 })
  t.pass()
})

t.test('a record says the key and its kind', async t => {
  t.match(rsa.record, /^v=DKIM1; k=rsa; p=MIIBIjAN[\w+/]{380,}={0,2}$/)
  t.match(ed25519.record, /^v=DKIM1; k=ed25519; p=[\w+/]{43}=$/)
})

t.test('a key that is not of its algorithm is refused', async t => {
  const message = composeMessage(plain)
  await t.rejects(signMessage(message, { ...rsa.key, algorithm: 'ed25519-sha256' }, time), TypeError)
  await t.rejects(signMessage(message, { ...ed25519.key, algorithm: 'rsa-sha256' }, time), TypeError)
  t.throws(() => loadDkimKey(Buffer.from('no key')))
})
