import { deepEqual, doesNotMatch, equal } from 'node:assert/strict'
import fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { simpleParser } from 'mailparser'
import PostalMime from 'postal-mime'
import t from 'tap'
import { assembleMessage } from '#lib/mail/assemble.ts'
import { safeFilename } from '#lib/mail/attachment_limits.ts'
import { composeAndSign } from '#lib/mail/compose.ts'
import { type DkimAlgorithm, dkimRecordValue, generateDkimKey, hashBody, loadDkimKey } from '#lib/mail/dkim.ts'
import type { Message, MessageAttachment, MimePart } from '#lib/mail/message.ts'
import { base64Lines, base64LinesLength } from '#lib/mail/mime/base64.ts'
import { file, plainMail } from '#test/support/mail/attachments.ts'

const words = `a b.pdf Résumé 日本語 👩‍🚀 e\u0301 . .. ' " ; = % %41 * ( ) , =? ?= =?utf-8?Q?=0D?= utf-8'' / \\ \r\n \0 \u202e`
const filename = fc
  .array(fc.oneof(fc.constantFrom(...words.split(' '), ' ', '  '), fc.string({ unit: 'grapheme' })), { maxLength: 8 })
  .chain(all => fc.constantFrom('', ' ').map(gap => all.join(gap)))
const content = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.constantFrom(...[0, 1, 56, 57, 58, 113, 114, 1024].map(length => new Uint8Array(length).fill(0x2e))),
  fc.integer({ min: 0, max: 70_000 }).map(length => new Uint8Array(length).map((_, i) => i * 7)),
)
const types = [
  'image/png',
  'application/pdf',
  'text/plain',
  'text/html; charset=utf-16',
  'text/csv',
  'application/x-a; charset=utf-8; x="y; z"',
  'application/octet-stream',
]
const attachment = fc
  .record({
    filename,
    content,
    content_type: fc.constantFrom(...types),
    content_disposition: fc.constantFrom('attachment' as const, 'inline' as const),
    hasId: fc.boolean(),
    piece: fc.constantFrom(1, 7, 57, 1000, 65_536),
  })
  .map(({ content, piece, ...rest }) => ({
    ...rest,
    content: Buffer.from(content),
    piece: content.length > 999 ? 997 : piece,
  }))
const text = fc.option(fc.constantFrom('', 'Hi', '日本語\n'.repeat(40)))
const mails = fc
  .record({ attachments: fc.array(attachment, { minLength: 1, maxLength: 4 }), text, html: text, seed: fc.uuid() })
  .map(({ attachments, ...rest }) => {
    const files = attachments.map(({ content, hasId, ...head }, i) =>
      Object.assign(file(content, { ...head, content_id: hasId ? `id-${i}@x` : null }), { content }),
    )
    return { ...plainMail, ...rest, attachments: files }
  })
type Mail = Omit<Message, 'attachments'> & { attachments: (MessageAttachment & { content: Buffer })[] }

/** The files as a parser should list them: inline files come first. */
function given({ attachments, html }: Mail) {
  const files = attachments.map(({ filename, content_type, content_id, content_disposition, content }) => {
    const [type = ''] = content_type?.split(';') ?? []
    const isInline = content_disposition === 'inline' && content_id !== null && !type.startsWith('text/')
    const isShown = html !== null && html.trim() !== '' && isInline
    const cid = content_id === null ? null : `<${content_id}>`
    return { name: safeFilename(filename), type, cid, isShown, content: content.toString('base64') }
  })
  return [...files.filter(({ isShown }) => isShown), ...files.filter(({ isShown }) => !isShown)]
}

type Seen = { text: string; html: string; files: ReturnType<typeof given> }

async function postalMime(source: Buffer): Promise<Seen> {
  const { text = '', html = '', attachments } = await PostalMime.parse(source)
  const files = attachments.map(({ filename, mimeType, contentId, disposition, content }) => ({
    name: filename ?? '',
    type: mimeType,
    cid: contentId ?? null,
    isShown: disposition === 'inline',
    content: Buffer.from(content as ArrayBuffer).toString('base64'),
  }))
  return { text, html, files }
}

async function mailparser(source: Buffer): Promise<Seen> {
  const skip = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }
  const { text = '', html, attachments } = await simpleParser(source, skip)
  const files = attachments.map(({ filename, contentType, contentId, contentDisposition, related, content }) => {
    equal(Boolean(related), contentDisposition === 'inline')
    const isShown = contentDisposition === 'inline'
    return {
      name: filename ?? '',
      type: contentType,
      cid: contentId ?? null,
      isShown,
      content: content.toString('base64'),
    }
  })
  return { text, html: html || '', files }
}

async function makeKey(algorithm: DkimAlgorithm) {
  const { private_key, public_key } = await generateDkimKey(algorithm)
  const record = dkimRecordValue(algorithm, public_key)
  const key = { domain: 'example.com', selector: algorithm, algorithm, private_key: loadDkimKey(private_key) }
  return { record, key }
}
const made = [await makeKey('rsa-sha256'), await makeKey('ed25519-sha256')]
const signers = [made.slice(0, 1), made.slice(1), made].map(keys => keys.map(({ key }) => key))

async function verdict(source: Buffer): Promise<string> {
  const resolver = async (name: string) =>
    made.filter(({ key }) => name === `${key.selector}._domainkey.example.com`).map(({ record }) => [record])
  const { results } = await dkimVerify(source, { resolver, strict: true, curTime: plainMail.date })
  return results.map(({ status }) => status.result).join()
}

t.test('any files arrive as given in two parsers, and the signature verifies', async t => {
  const property = fc.asyncProperty(mails, fc.constantFrom(...signers), async (mail, keys) => {
    const source = await composeAndSign(mail, keys)
    const lines = (text: string | null) => (text ?? '').replace(/\r\n/g, '\n')
    for (const read of [postalMime, mailparser]) {
      const { text, html, files } = await read(source)
      deepEqual(files, given(mail))
      deepEqual(
        [lines(text).trimEnd(), lines(html).trimEnd()],
        [lines(mail.text).trimEnd(), lines(mail.html).trimEnd()],
      )
    }
    equal(await verdict(source), keys.map(() => 'pass').join())
    doesNotMatch(source.toString('latin1'), /[^\t\r\n -~]|\r(?!\n)|(?<!\r)\n|[^\r\n]{79}|\n[\t ]+\r/)
    deepEqual(await composeAndSign(mail, keys), source, 'the same every time')
  })
  await fc.assert(property, { numRuns: 60, seed: 20261121 })
  t.pass()
})

t.test('any bytes in any pieces are written as base64 of the predicted length', async t => {
  const pieces = fc.array(fc.oneof(fc.integer({ min: 0, max: 200 }), fc.constantFrom(57, 58_368, 58_369)), {
    maxLength: 9,
  })
  const property = fc.asyncProperty(pieces, async lengths => {
    const all = Buffer.concat(lengths.map((length, i) => Buffer.alloc(length, `${i}é`)))
    const read = async function* () {
      let start = 0
      for (const length of lengths) {
        yield all.subarray(start, start + length)
        start += length
      }
    }
    const part: MimePart = { fields: [], body: [{ attachment: 0, length: base64LinesLength(all.length) }] }
    const written = await assembleMessage(part, [file('', { size: all.length, read })], [], plainMail.date)
    equal(written.toString('latin1', 4), base64Lines(all))
  })
  await fc.assert(property, { numRuns: 60, seed: 20261122 })
  t.pass()
})

t.test('the body hash computed while writing equals that of the general canonicalization', async t => {
  const texts = ['a\r\n', ' a\r\n', 'a  b\r\n', 'a \r\n', '\ta\r\n', '\r\n', 'x'.repeat(600_000), 'a: b\r\n\r\n']
  const bodies = fc.array(fc.oneof(fc.constantFrom(...texts), fc.integer({ min: 0, max: 300 })), { maxLength: 6 })
  const property = fc.asyncProperty(bodies, fc.constantFrom(...signers), async (body, keys) => {
    const files = body.map(piece => file(Buffer.alloc(Number(piece) || 0)))
    const pieces = body.map((piece, attachment) =>
      typeof piece === 'string' ? piece : { attachment, length: base64LinesLength(piece) },
    )
    const part: MimePart = { fields: [{ name: 'From', raw: 'From: a@example.com' }], body: pieces }
    const source = await assembleMessage(part, files, keys, plainMail.date)
    const [head = ''] = source.toString('latin1').split('\r\n\r\n')
    const [, bh] = /bh=([^;]+);/.exec(head.replace(/\s/g, '')) ?? []
    equal(bh, hashBody(source.subarray(head.length + 4)))
    if (source.at(-1) === 0x0a) equal(await verdict(source), keys.map(() => 'pass').join())
  })
  await fc.assert(property, { numRuns: 80, seed: 20261123 })
  t.pass()
})
