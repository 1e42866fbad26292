import emailAddresses from 'email-addresses'
import fc from 'fast-check'
import t from 'tap'
import { explainUnsendable, parseWideAddress, type WideAddress } from '#lib/mail/wide_address.ts'
import { parseRecipient } from '#lib/receiving/recipient.ts'

t.test('parseWideAddress decodes quotes and escapes of local parts', async t => {
  const cases: [string, string | null, WideAddress['kind']?][] = [
    ['a.b@x.co', 'a.b', 'plain'],
    ['ü@x.co', 'ü', 'international'],
    ['"ü"@x.co', 'ü', 'international'],
    ['"ü x"@x.co', '"ü x"', 'international'],
    ['"a"@x.co', 'a', 'quoted'],
    ['"a b"@x.co', '"a b"', 'quoted'],
    ['"\\a\\"\\\\"@x.co', '"a\\"\\\\"', 'quoted'],
    ['"a@b"@x.co', '"a@b"', 'quoted'],
    ['a..b@x.co', null],
    ['"a"b"@x.co', null],
    ['"a\u0007"@x.co', null],
    ['"a\u202e"@x.co', null],
    ['a\u00a0b@x.co', null],
    [`${'ü'.repeat(32)}@x.co`, 'ü'.repeat(32), 'international'],
    [`${'ü'.repeat(33)}@x.co`, null],
    ['"a b"@x', null],
  ]
  for (const [text, local, kind] of cases) {
    const expected = local === null ? null : { local, domain: 'x.co', kind }
    t.same(parseWideAddress(text), expected, text)
  }
})

t.test('parseRecipient refuses source routes', async t => {
  for (const text of ['a%b.co@x.co', 'b.co!a@x.co', '"a@b.co"@x.co', '"a\\@b.co"@x.co', '"a%b"@x.co', '"b!a"@x.co']) {
    t.ok(parseWideAddress(text), text)
    t.equal(parseRecipient(text), null, text)
  }
})

t.test('explainUnsendable explains only addresses that may exist', async t => {
  t.match(explainUnsendable('Jo <"a b"@x.co>'), /^Addresses with quoted local parts are received/)
  t.match(explainUnsendable('ü@x.co'), /^Addresses with non-ASCII local parts are received/)
  for (const text of ['a@x.co', 'ü', 'ü@x', 'ü@@x.co', '"a@x.co']) t.equal(explainUnsendable(text), null, text)
})

const shard = fc.constantFrom(
  ...'ab.."\\ @ü用,;:<>()[]%!+-_\t\u00a0\u202e',
  '\\"',
  '\\\\',
  '..',
  '\u0007',
  '👍',
  '\ud800',
)
const local = fc.oneof(
  fc.array(shard, { maxLength: 6 }).map(all => all.join('')),
  fc.array(shard, { maxLength: 6 }).map(all => `"${all.join('')}"`),
)

t.test('parseWideAddress agrees with a full RFC 5322 and 6532 parser', async t => {
  let accepted = 0
  const property = fc.property(local, local => {
    const text = `${local}@x.co`
    const ours = parseWideAddress(text)
    if (ours) accepted++
    return (ours && contentOf(ours)) === byTheBook(text)
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 10_000 }))
  t.ok(accepted > 500, `${accepted} addresses`)
})

function contentOf({ local }: WideAddress): string {
  return local.startsWith('"') ? local.slice(1, -1).replace(/\\(.)/g, '$1') : local
}

/** The local part without its quotes, or null if it is not an address or would be stored as a different one. */
function byTheBook(input: string): string | null {
  // SMTP escapes only ASCII (RFC 5321 4.1.2), which RFC 6531 3.3 does not change.
  if (/[\p{Cc}\p{Cs}\p{Bidi_Control}\u00a0]|(?<!\\)(?:\\\\)*\\\P{ASCII}/u.test(input)) return null
  const mailbox = emailAddresses.parseOneAddress({ input, rfc6532: true, strict: true, startAt: 'mailbox' })
  if (mailbox?.type !== 'mailbox' || mailbox.parts.address.tokens !== input) return null
  const { tokens } = mailbox.parts.local
  // Blanks and comments around the local part are part of its tokens.
  if (!/^(?:".*"|[^\s"()]+)$/.test(tokens)) return null
  return tokens.startsWith('"') ? tokens.slice(1, -1).replace(/\\(.)/gu, '$1') : tokens
}
