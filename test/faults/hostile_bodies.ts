import fc from 'fast-check'
import { CompleteEmail } from '#lib/sending/new_email.ts'

export type Post = { text: string; headers: Record<string, string> }

const pieces = [
  ...[
    '',
    ' ',
    '\0',
    '\r\n',
    '\u2028',
    '\ud800',
    '\udc00x',
    '🎉',
    '\ufeff',
    '\u202e',
    '%00',
    "'; --",
    '{{a}}',
    '\\',
    '"',
  ],
  ...['a@b.com', 'A <a@b.com>', '<a@b.com>', 'a@b.com, c@d.com', 'x@example.com', 'a@bücher.de', '@', '<', '>', '[]'],
  ...['Bcc', 'Content-Type', 'X-A', 'null', 'NaN', '1e400', '-0', 'true', '2026-01-01T00:00:00Z', 'x'.repeat(2_000)],
]
const text = fc.oneof(
  fc.constantFrom(...pieces),
  fc.emailAddress(),
  fc.array(fc.nat({ max: 0xffff }), { maxLength: 30 }).map(units => String.fromCharCode(...units)),
  fc.array(fc.constantFrom(...pieces), { maxLength: 6 }).map(list => list.join('')),
)
const scalar = fc.oneof(text, fc.constantFrom(null, true, false, 0, -1, 1e308, 5e-324, 2 ** 53), fc.double())
const { value } = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { weight: 3, arbitrary: scalar },
    fc.array(tie('value'), { maxLength: 6 }),
    fc.dictionary(fc.oneof(text, fc.constantFrom('name', 'value', 'id', '__proto__')), tie('value'), { maxKeys: 5 }),
    fc.tuple(fc.integer({ min: 49, max: 300 }), scalar).map(([count, item]) => Array(count).fill(item)),
  ),
}))

/** Valid and nearly valid values of the fields that are stored. */
const word = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/)
const wellFormed = fc.string({ unit: 'grapheme', maxLength: 300 })
const mailbox = fc.oneof(
  fc.constantFrom('a@b.com', 'b@c.com', 'A <a@b.com>', 'x@example.com', 'ä@b.com', 'bounced@simulator.internal'),
  fc.tuple(wellFormed, fc.constant('a@b.com')).map(([name, address]) => `"${name.replace(/["\\]/g, '')}" <${address}>`),
)
const mailboxes = fc.oneof(mailbox, fc.array(mailbox, { minLength: 1, maxLength: 50 }))
const plausible: Record<string, fc.Arbitrary<unknown>> = {
  to: mailboxes,
  cc: mailboxes,
  bcc: mailboxes,
  reply_to: mailboxes,
  subject: wellFormed,
  html: fc.oneof(wellFormed, text, fc.constant('x'.repeat(200_000))),
  text: fc.oneof(wellFormed, text),
  headers: fc.dictionary(fc.stringMatching(/^X-[a-z0-9]{1,9}$/), wellFormed, { maxKeys: 5 }),
  tags: fc.array(fc.record({ name: word, value: word }), { maxLength: 5 }),
  variables: fc.dictionary(fc.oneof(word, fc.constant('a')), fc.oneof(wellFormed, fc.double()), { maxKeys: 5 }),
  unknown: value,
}

type Change = { field: string; how: 'set' | 'leave out' | 'wrap'; value: unknown }
const plausibleChange: fc.Arbitrary<Change> = fc
  .constantFrom(...Object.keys(plausible))
  .chain(field => fc.record({ field: fc.constant(field), how: fc.constant('set'), value: plausible[field] ?? value }))
const wildChange: fc.Arbitrary<Change> = fc.record({
  field: fc.constantFrom(...Object.keys(CompleteEmail.shape), 'From', '__proto__', 'constructor', 'toJSON', ''),
  how: fc.constantFrom('set', 'set', 'set', 'leave out', 'wrap'),
  value,
})
const change = fc.oneof({ weight: 6, arbitrary: plausibleChange }, wildChange)

const cut = fc.record({
  at: fc.nat(),
  drop: fc.nat({ max: 3 }),
  put: fc.constantFrom('', ',', '"', '{', ']', '\0', '\ud800', '1'),
})
const headers = fc.record(
  {
    'content-type': fc.constantFrom('application/json', 'text/plain', 'application/json; charset=utf-16', 'x'),
    'content-encoding': fc.constantFrom('identity', 'identity', 'gzip'),
    'idempotency-key': fc.string({ unit: 'grapheme-ascii', maxLength: 3 }),
  },
  { requiredKeys: [] },
)

const seldom = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, arbitrary)

/** A valid email from that domain, partly changed by somebody who knows the fields, and sometimes cut. */
export function hostilePosts(domain: string): fc.Arbitrary<Post> {
  const email = { from: `a@${domain}`, to: ['b@c.com'], subject: 'Hi', html: '<p>', headers: { 'X-A': 'b' } }
  const changes = fc.array(change, { minLength: 1, maxLength: 4 })
  return fc.tuple(changes, seldom(cut), seldom(headers)).map(([changes, cut, headers]) => {
    const body = JSON.stringify(Object.fromEntries(changes.reduce(apply, Object.entries(email))))
    const at = (cut?.at ?? 0) % body.length
    return { text: cut ? body.slice(0, at) + cut.put + body.slice(at + cut.drop) : body, headers: headers ?? {} }
  })
}

function apply(entries: [string, unknown][], { field, how, value }: Change): [string, unknown][] {
  const others = entries.filter(([name]) => name !== field)
  if (how === 'leave out') return others
  const before = entries.find(([name]) => name === field)?.[1]
  return [...others, [field, how === 'wrap' ? [before, value] : value]]
}
