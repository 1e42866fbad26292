import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { simpleParser } from 'mailparser'
import PostalMime from 'postal-mime'
import t from 'tap'
import { composeAndSign } from '#lib/mail/compose.ts'
import { hashBody } from '#lib/mail/dkim.ts'
import { embedMessage } from '#lib/mail/mime/embedded_message.ts'
import { file, plainMail } from '#test/support/mail/attachments.ts'

const head = 'From: a@b.com\r\nSubject: Hi\r\n'
const crlf = (text: string) => text.replace(/\r?\n/g, '\r\n')

/** A message with a file, unsigned. */
function compose(content: Buffer | string, content_type: string | null = 'message/rfc822'): Promise<Buffer> {
  const attachment = file(Buffer.from(content), { filename: 'mail.eml', content_type })
  return composeAndSign({ ...plainMail, text: 'See below.', attachments: [attachment] }, [])
}

/** The attached file as an independent parser reads it, which ends the lines of a message in LF and adds one. */
async function attachedIn(message: Buffer): Promise<{ type: string; bytes: Buffer }> {
  const { attachments } = await PostalMime.parse(message, { rfc822Attachments: true, forceRfc822Attachments: true })
  t.equal(attachments.length, 1)
  const [attached] = attachments
  return { type: attached?.mimeType ?? '', bytes: Buffer.from(attached?.content as ArrayBuffer) }
}

type Contents = { subject: string | undefined; text: string; html: string; files: unknown[] }

/** The contents of a message according to two parsers, which differ in empty lines. */
async function contentsOf(message: Buffer): Promise<Contents[]> {
  const [one, other] = [await simpleParser(message), await PostalMime.parse(message)]
  const text = (found: string | false | undefined) => (found || '').replace(/[\r\n]+/g, '\n').trim()
  const files = one.attachments.map(async ({ filename, contentType, content }) => [
    filename,
    contentType === 'message/rfc822' ? await contentsOf(content) : content.toString('hex'),
  ])
  const others = other.attachments.map(({ filename, content }) => [filename, Buffer.from(content as ArrayBuffer)])
  return [
    { subject: one.subject, text: text(one.text), html: text(one.html), files: await Promise.all(files) },
    { subject: other.subject, text: text(other.text), html: text(other.html), files: others },
  ]
}

t.test('a message is attached as message/rfc822 with encoding 7bit', async t => {
  const inner = `${head}\r\nHello\r\n.\r\nFrom here \t \r\n\r\nx\r\n`
  const envelope = 'From a@b.com Mon Jan  1 00:00:00 2024\r\n'
  const lf = inner.replaceAll('\r\n', '\n')
  for (const given of [inner, lf, inner.replaceAll('\r\n', '\r'), inner.slice(0, -2), envelope + inner]) {
    for (const type of ['message/rfc822', 'Message/RFC822', null]) {
      const message = (await compose(given, type)).toString()
      const [, part] = /(Content-Type: message\/rfc822; name="mail\.eml"\r\n[\s\S]*?)\r\n--mb-/.exec(message) ?? []
      t.equal(
        part,
        'Content-Type: message/rfc822; name="mail.eml"\r\nContent-Transfer-Encoding: 7bit\r\n' +
          `Content-Disposition: attachment; filename="mail.eml"\r\n\r\n${inner}`,
      )
    }
  }
  t.same(await attachedIn(await compose(inner)), { type: 'message/rfc822', bytes: Buffer.from(`${lf}\n`) })
})

t.test('bytes that are not a legal message are attached as plain bytes', async t => {
  const part = (fields: string, content: string) =>
    `${head}Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n${fields}\r\n\r\n${content}\r\n--x--\r\n`
  for (const given of [
    'hello',
    '',
    '\r\nFrom: a@b.com\r\n',
    'X-A: b\r\n\r\nx',
    `${head}no field\r\n\r\nx`,
    `From: \xe4@b.com\r\n\r\nx`,
    `${head}X-A: ${'x'.repeat(999)}\r\n\r\nx`,
    `${head}Content-Transfer-Encoding: binary\r\n\r\n\xff\0`,
    `${head}Content-Transfer-Encoding: base64\r\n\r\n\xff`,
    `${head}Content-Type: multipart/mixed\r\n\r\n\xff`,
    `${head}Content-Type: multipart/mixed; boundary=x\r\n\r\n\xff`,
    part('Content-Type: message/delivery-status', 'Status: \xff'),
    part('Content-Type: text/plain; name=\xff', 'x'),
    part('Content-Type: text/plain', '\xff').replace('mixed', 'signed'),
    part('', 'Subject: x\r\n\r\n\xff').replace('mixed', 'digest'),
  ]) {
    const bytes = Buffer.from(given, 'latin1')
    t.equal(embedMessage(bytes), null, JSON.stringify(given.slice(0, 80)))
    t.same(await attachedIn(await compose(bytes)), { type: 'application/octet-stream', bytes })
  }
  const eml = Buffer.from(`${head}\n\nx`)
  t.same(await attachedIn(await compose(eml, 'application/octet-stream')), {
    type: 'application/octet-stream',
    bytes: eml,
  })
})

t.test('each 8-bit part of an attached message is encoded separately', async t => {
  const before = Buffer.from(
    crlf(`${head}MIME-Version: 1.0
Content-Type: multipart/mixed;
 boundary="a b"
Content-Transfer-Encoding: 8bit

prämble
--a b
Content-Type: multipart/alternative; boundary=x

--x
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

Grüße

--x
Content-Type: text/html; charset=utf-8

<p>Grüße ${'x'.repeat(2_000)}</p>
--x--
--a b 
Content-Type: text/plain; charset=utf-8; name=n.txt
Content-Disposition: attachment; filename=n.txt
Content-Transfer-Encoding: 7bit

ascii
--a b
Content-Type: application/pdf; name=n.pdf
Content-Disposition: attachment; filename=n.pdf
Content-Transfer-Encoding: base64

AAAA
--a b
Content-Type: message/rfc822
Content-Transfer-Encoding: 8bit

Subject: inner
Content-Type: text/plain; charset=utf-8

Übrigens
--a b--
epilög
`),
  )
  const after = embedMessage(before) as Buffer
  t.notMatch(after.toString('latin1'), /[\x80-\xff]|8bit|(?<!\r)\n|.{999}/)
  t.same(await contentsOf(after), await contentsOf(before))
  t.match(after.toString(), '7bit\r\n\r\nascii\r\n--a b\r\n', 'a leaf of 7bit')
  const { type, bytes } = await attachedIn(await compose(before))
  t.equal(type, 'message/rfc822')
  t.equal(bytes.toString(), `${after.toString().replaceAll('\r\n', '\n')}\n`)
})

t.test('generated messages have the same contents once embedded', async t => {
  const line = fc.oneof(
    { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 80 }) },
    { weight: 1, arbitrary: fc.string({ minLength: 990, maxLength: 1_010 }) },
  )
  const text = fc
    .array(line, { maxLength: 6 })
    .map(lines => lines.map(each => each.replace(/[\p{Cc}\u2028\u2029]|--x/gu, '').trim()).join('\r\n'))
  const part = (type: string, content: string) => `--x\r\nContent-Type: ${type}; charset=utf-8\r\n\r\n${content}\r\n`
  await fc.assert(
    fc.asyncProperty(text, text, async (plain, html) => {
      const body = `${part('text/plain', plain)}${part('text/html', `<p>${html}</p>`)}--x--\r\n`
      const before = Buffer.from(`${head}Content-Type: multipart/alternative; boundary=x\r\n\r\n${body}`)
      const after = embedMessage(before) as Buffer
      const lines = after.toString('latin1').split('\r\n')
      t.ok(lines.every(each => each.length <= 998 && !/[\r\n\0\x80-\xff]/.test(each)))
      t.same(await contentsOf(after), await contentsOf(before))
    }),
    { numRuns: 40 },
  )
})

t.test('a long message is attached and its signature verifies', async t => {
  const key = { domain: 'example.com', selector: 's', algorithm: 'ed25519-sha256' } as const
  const private_key = generateKeyPairSync('ed25519').privateKey
  const inner = `${head}Content-Type: text/plain; charset=utf-8\r\n\r\n${'Hello  you \t \r\n\r\n'.repeat(40_000)}`
  for (const given of [inner, `${inner}Grüße`]) {
    const attachment = file(given, { filename: 'mail.eml', piece: 100_000 })
    const message = await composeAndSign({ ...plainMail, attachments: [attachment] }, [{ ...key, private_key }])
    const body = message.indexOf('\r\n\r\n') + 4
    const [, bh] = /bh=([^;]+);/.exec(message.toString('latin1', 0, body).replace(/\s+/g, '')) ?? []
    t.equal(bh, hashBody(message.subarray(body)))
    const { attachments } = await simpleParser(message)
    t.ok(attachments[0]?.content.equals(embedMessage(Buffer.from(given)) as Buffer))
  }
})
