import { deepEqual, doesNotMatch } from 'node:assert/strict'
import fc from 'fast-check'
import { simpleParser } from 'mailparser'
import MailComposer from 'nodemailer/lib/mail-composer'
import PostalMime, { decodeWords } from 'postal-mime'
import t from 'tap'
import {
  composeMessage,
  type Mailbox,
  type Message,
  type MessageAttachment,
  serializeMessage,
} from '#lib/mail/message.ts'

const words = '" , \\ < > ( ) : ; @ . .. = ? _ - [ ] <a@b.co> =? ?= =?utf-8?B?eHh4?= =?utf-8?Q?a_b?= =?x?q?=0D?= a?b=c'
const foreign = 'é ü 日本語 Ελληνικά עברית 😀 👩‍🚀 🏳️‍🌈 𝔘𝔫𝔦 e\u0301 \u200b \u2028 \u0085 \u00a0 ﬁ'
const piece = fc.oneof(
  fc.constantFrom(...words.split(' '), ...foreign.split(' '), ' ', '  ', '\t', 'w'.repeat(75), 'x'.repeat(77)),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ unit: 'grapheme-ascii', maxLength: 90 }),
)
const phrase = fc.tuple(fc.array(piece, { maxLength: 9 }), fc.constantFrom('', ' ')).map(([all, gap]) => all.join(gap))
const long = fc.constantFrom('l'.repeat(997), 'm'.repeat(998), 'n'.repeat(999), 'ö'.repeat(1100), 'word '.repeat(400))
const line = fc.oneof(phrase, long, fc.constantFrom('.', '..', '.x', 'From x', '-- ', '', 'end  '))
const breaks = fc.constantFrom('\n', '\r\n', '\r', '\n\r\n')
const body = fc.option(fc.tuple(fc.array(line, { maxLength: 8 }), breaks).map(([all, end]) => all.join(end)))
const longAddress = `${'l'.repeat(64)}@${'d'.repeat(60)}.example`
const mailbox = fc.record({
  name: fc.option(phrase),
  address: fc.constantFrom('a@b.co', 'x.y+z@mail.example.com', '"q u"@b.co', longAddress),
})
const headerName = fc.constantFrom('X-Note', 'Feedback-ID', `X-${'n'.repeat(62)}`)
const headerValue = fc.oneof(phrase, long).map(text => text.replace(/^[\t ]+|[\t ]+$/g, ''))
const mails = fc.record({
  message_id: fc.constant('0190@example.com'),
  date: fc.constant(new Date('2026-11-01T09:05:07Z')),
  from: mailbox,
  to: fc.array(mailbox, { minLength: 1, maxLength: 6 }),
  cc: fc.array(mailbox, { maxLength: 2 }),
  reply_to: fc.array(mailbox, { maxLength: 2 }),
  subject: fc.oneof(phrase, long),
  headers: fc.dictionary(headerName, headerValue),
  text: body,
  html: body,
  attachments: fc.constant<MessageAttachment[]>([]),
  seed: fc.uuid(),
})

const pairs = (mailboxes: { name?: string | null; address?: string | undefined }[]) =>
  mailboxes.map(({ name, address }) => [name ?? '', address])
const lines = (text: string | false | null | undefined) => (text || '').replace(/\r\n?|\n/g, '\n')

/** The message as a parser should read it, with empty text and no text being the same. */
const given = (mail: Message) => ({
  subject: mail.subject,
  from: pairs([mail.from]),
  to: pairs(mail.to),
  cc: pairs(mail.cc),
  reply_to: pairs(mail.reply_to),
  text: lines(mail.text),
  html: lines(mail.html),
  headers: Object.entries(mail.headers),
})
type Seen = ReturnType<typeof given>

/** Neither parser decodes custom headers. Encoded words that a caller wrote in ASCII must stay as they are. */
const readHeaders = ({ headers }: Message, raw: (key: string) => string): Seen['headers'] =>
  Object.entries(headers).map(([name, values]) => {
    const value = String(values)
    const isCallersOwn = value.includes('=?') && !/[^\t -~]/.test(value)
    const found = raw(name.toLowerCase())
    return [name, isCallersOwn ? found : decodeWords(found)]
  })

async function postalMime(source: Buffer, mail: Message): Promise<Seen> {
  const read = await PostalMime.parse(source)
  return {
    subject: read.subject ?? '',
    from: pairs(read.from ? [read.from] : []),
    to: pairs(read.to ?? []),
    cc: pairs(read.cc ?? []),
    reply_to: pairs(read.replyTo ?? []),
    text: lines(read.text),
    html: lines(read.html),
    headers: readHeaders(mail, key => read.headers.find(header => header.key === key)?.value ?? ''),
  }
}

async function mailparser(source: Buffer, mail: Message): Promise<Seen> {
  const skip = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }
  const read = await simpleParser(source, skip)
  const addresses = (key: 'from' | 'to' | 'cc' | 'replyTo') =>
    pairs([read[key] ?? []].flat().flatMap(found => found.value))
  return {
    subject: read.subject ?? '',
    from: addresses('from'),
    to: addresses('to'),
    cc: addresses('cc'),
    reply_to: addresses('replyTo'),
    text: lines(read.text),
    html: lines(read.html),
    headers: readHeaders(mail, key => String(read.headers.get(key) ?? '')),
  }
}

function composeByReference({
  message_id,
  reply_to,
  from,
  sender: _,
  to,
  cc,
  text,
  html,
  ...same
}: Message): Promise<Buffer> {
  const named = ({ name, address }: Mailbox) => ({ name: name ?? '', address })
  const mailboxes = { from: named(from), to: to.map(named), cc: cc.map(named), replyTo: reply_to.map(named) }
  const bodies = { text: text ?? undefined, html: html ?? undefined }
  return new MailComposer({ ...same, ...mailboxes, ...bodies, messageId: message_id }).compile().build()
}

/**
 * Known losses of the reference: outer and repeated spaces, encoded words written as plain text, a bare CR in a body. There
 * we compare with the input alone. The reference also adds a line break to the end of a body.
 */
function keysBothKeep(seen: Seen, mail: Message): (keyof Seen)[] {
  const isKept = (value: string) => !/=\?|^\s|\s$|\s\s|\t/.test(value)
  const isKeptBody = (value: string | null) => !/\r(?!\n)/.test(value ?? '')
  return (Object.keys(seen) as (keyof Seen)[]).filter(key =>
    key === 'text' || key === 'html' ? isKeptBody(mail[key]) : [seen[key]].flat(2).map(String).every(isKept),
  )
}
const pick = (seen: Seen, keys: (keyof Seen)[]) =>
  keys.map(key => (key === 'text' || key === 'html' ? seen[key].trimEnd() : seen[key]))

t.test('any message reads as given by two parsers, and as the reference composer writes it', async t => {
  let compared = 0
  const property = fc.asyncProperty(mails, async mail => {
    const source = serializeMessage(composeMessage(mail))
    const reference = await composeByReference(mail)
    for (const read of [postalMime, mailparser]) {
      const seen = await read(source, mail)
      deepEqual(seen, given(mail))
      const keys = keysBothKeep(seen, mail)
      deepEqual(pick(await read(reference, mail), keys), pick(seen, keys))
      compared += keys.length
    }
  })
  await fc.assert(property, { numRuns: 300, seed: 20261121 })
  t.ok(compared > 2000, 'most fields were compared to the reference too')
})

t.test('any message has short ASCII lines ended by CRLF, and the same bytes every time', async t => {
  const property = fc.property(mails, mail => {
    const source = serializeMessage(composeMessage(mail))
    doesNotMatch(source.toString('latin1'), /[^\t\r\n -~]|\r(?!\n)|(?<!\r)\n|[^\r\n]{999}|\n[\t ]+\r/)
    deepEqual(serializeMessage(composeMessage(structuredClone(mail))), source)
  })
  fc.assert(property, { numRuns: 100, seed: 20261122 })
  t.pass()
})
