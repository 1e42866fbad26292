import { deepEqual } from 'node:assert/strict'
import emailAddresses from 'email-addresses'
import fc from 'fast-check'
import addressparser from 'nodemailer/lib/addressparser'
import PostalMime, { decodeWords } from 'postal-mime'
import t from 'tap'
import { formatAddress, parseAddress } from '#lib/mail/address.ts'
import { mailboxesField } from '#lib/mail/mime/mailbox.ts'

const names = [
  ...['Acme, Inc.', 'Acme (EU)', 'Support: Acme', 'me@acme.com via X', 'a@b.co', 'Doe, John', '5" disk', 'Jürgen'],
  ...['"Doe, John"', 'John "Jack" Doe', '  Jane  ', 'J. R. Doe;', '[Acme] \\o/', '山田 太郎', 'b@y.com, Jane'],
]
const specials = [
  ...'",;:()[]@\\.<> \t%\'`',
  '=?',
  '?=',
  '=?utf-8?q?x?=',
  '<evil@z.com>',
  'b@y.com, ',
  '\u00a0',
  '👩‍🚀',
]
const breaks = ['\r\n', '\n', '\r', '\0', '\u0085', '\u2028', '\u202e', '\r\nBcc: evil@z.com', '\ud800']
const piece = fc.oneof(
  fc.constantFrom(...names, ...specials),
  fc.constantFrom(...breaks),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
)
const name = fc.array(piece, { maxLength: 6 }).map(pieces => pieces.join(''))

t.test('an accepted display name reaches every mail parser unchanged and alone', async t => {
  let accepted = 0
  const property = fc.asyncProperty(name, async text => {
    const address = parseAddress(`${text} <me@b.co>`)
    if (!address) return
    accepted++
    deepEqual(parseAddress(formatAddress(address)), address)
    const { raw } = mailboxesField('To', [address])
    const mailbox = { name: address.name ?? '', address: 'me@b.co' }
    for (const read of [byPostalMime, byNodemailer, byTheBook]) deepEqual(await read(raw), [mailbox], read.name)
  })
  await fc.assert(property, { numRuns: 3_000, examples: names.map(name => [name]) })
  t.ok(accepted > 300, `${accepted} names`)
})

async function byPostalMime(raw: string) {
  const { to, headers } = await PostalMime.parse(`${raw}\r\n\r\n`)
  deepEqual(
    headers.map(({ key }) => key),
    ['to'],
  )
  return to
}

async function byNodemailer(raw: string) {
  return addressparser(bodyOf(raw)).map(({ name, address }) => ({ name: decodeWords(name), address }))
}

async function byTheBook(raw: string) {
  const found = emailAddresses.parseAddressList({ input: bodyOf(raw), strict: true }) ?? []
  return found.map(mailbox =>
    mailbox.type === 'mailbox'
      ? { name: decodeWords(mailbox.name ?? ''), address: mailbox.address }
      : { name: 'a group', address: '' },
  )
}

/** The unfolded value (RFC 5322 section 2.2.3). */
function bodyOf(raw: string): string {
  return raw.slice(raw.indexOf(':') + 1).replaceAll('\r\n', '')
}
