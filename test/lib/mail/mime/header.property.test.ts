import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import PostalMime from 'postal-mime'
import t from 'tap'
import { readHeader, splitMessage } from '#lib/mail/mime/header.ts'

const names = fc.oneof(
  fc.constantFrom('Received', 'received', 'DKIM-Signature', 'ARC-Seal', 'To', 'X-Spam-Status', 'Content-Type', '>From'),
  fc.stringMatching(/^[!-9;-~]{1,70}$/),
)
const word = fc.oneof(
  fc.constantFrom(
    'from',
    'by',
    'mx.example',
    ';',
    'b=',
    ':',
    'a: b',
    '(comment)',
    '=?utf-8?q?=c3=bc?=',
    '--b',
    'From ',
  ),
  fc.constantFrom('é', 'ü', '日本語', '😀', '\u00a0', '\u2028', '\u0085', '\v', '\f', '\0', '\x7f'),
  fc.stringMatching(/^[!-~]{1,80}$/),
)
const gap = fc.constantFrom(' ', '\t', '  ', '', '\n ', '\n\t', '\n \t ', '\n  \n\t', ' \n \n ')
const content = fc.array(fc.tuple(gap, word), { maxLength: 12 }).map(pieces => pieces.flat().join(''))
const field = fc
  .tuple(
    names,
    fc.constantFrom('', '', '', ' ', '\t '),
    fc.oneof(content, fc.constantFrom('', ' ', '\n ', 'x'.repeat(998))),
  )
  .map(([name, blank, value]) => `${name}${blank}:${value}`)
const fields = fc.oneof(
  fc.array(field, { minLength: 1, maxLength: 20 }),
  fc
    .array(field, { minLength: 1, maxLength: 5 })
    .map(some => Array.from({ length: 1_000 }, (_, n) => some[n % some.length] as string)),
)
const bodies = fc.constantFrom('', '\n', 'x', 'Subject: not a field', ' y\n\nz: a', '\0')
const ends = fc.constantFrom('\r\n', '\n', '\r')

/** Names and values according to an independent parser, which does not treat CR alone as the end of a line. */
async function readIndependently(raw: Buffer): Promise<[string, string][]> {
  const { headers } = await PostalMime.parse(
    raw.toString('latin1').includes('\n') ? raw : Buffer.from(raw.map(byte => (byte === 13 ? 10 : byte))),
  )
  return headers.map(({ key, value }) => [key, value])
}

t.test('readHeader finds the fields that an independent parser finds', async t => {
  const property = fc.asyncProperty(fields, bodies, ends, async (all, body, end) => {
    const raw = Buffer.from(`${all.join('\n')}\n\n${body}`.replaceAll('\n', end))
    const { header, body: found } = splitMessage(raw)
    const read = readHeader(header)
    const expected = await readIndependently(Buffer.concat([header, Buffer.from(end)]))
    deepEqual(
      read.map(({ name, value }) => [name, Buffer.from(value, 'latin1').toString()]),
      expected,
    )
    deepEqual(expected.length, all.length)
    deepEqual(Buffer.concat(read.map(one => one.raw)), header)
    deepEqual(found.toString(), body.replaceAll('\n', end))
  })
  await t.resolves(fc.assert(property, { numRuns: 150, seed: 20261122 }))
})

t.test('readHeader keeps bytes that have no charset', async t => {
  const raw = Buffer.from('Subject: caf\xe9 \xff\r\n\t\x80\r\n\r\n', 'latin1')
  t.same(
    readHeader(splitMessage(raw).header).map(({ name, value }) => [name, value]),
    [['subject', 'caf\xe9 \xff\t\x80']],
  )
})

const read = (text: string) => {
  const { header, body } = splitMessage(Buffer.from(text))
  return { fields: readHeader(header).map(({ name, value }) => [name, value]), body: body.toString() }
}

t.test('splitMessage continues after lines that are not fields', async t => {
  const fields = [
    ['from', 'a@x.com'],
    ['to', 'b@y.com c@y.com'],
  ]
  const from = 'From a@x.com Mon Nov 21 09:00:00 2026'
  const cases = [
    `${from}\nFrom: a@x.com\nTo: b@y.com\n c@y.com\n\nbody\n`,
    `>${from}\n\tlost\nFrom: a@x.com\nTo: b@y.com\n c@y.com\n\nbody\n`,
    ' a fold of nothing\nFrom: a@x.com\nTo: b@y.com\n c@y.com\n\nbody\n',
    'From: a@x.com\nby mx.y.com with SMTP\n\tfold of that\nTo: b@y.com\n c@y.com\n\nbody\n',
    'From: a@x.com\n: no name\ntwo words: no name\nTo: b@y.com\n c@y.com\n\nbody\n',
  ]
  for (const text of cases) t.same(read(text), { fields, body: 'body\n' }, text)
})

t.test('splitMessage finds a body without an empty line before it', async t => {
  const cases: [text: string, fields: string[][], body: string][] = [
    ['From: a@x.com\nHello you\n\nthere', [['from', 'a@x.com']], 'Hello you\n\nthere'],
    ['From: a@x.com\n fold\nHello you', [['from', 'a@x.com fold']], 'Hello you'],
    ['Hello you\nTo: b@y.com\n\nthere', [], 'Hello you\nTo: b@y.com\n\nthere'],
    ['\nTo: b@y.com', [], 'To: b@y.com'],
    ['To: b@y.com', [['to', 'b@y.com']], ''],
    ['', [], ''],
  ]
  for (const [text, fields, body] of cases) t.same(read(text), { fields, body }, text)
})

t.test('splitMessage and readHeader take linear time', async t => {
  const mean = ['X: y\n', 'X:\n ', ' \n', '\r', 'x', 'x ', ':', 'From ', '\0', 'x \t', 'a: \n\t b\r']
  for (const piece of mean) {
    const time = (length: number) => {
      const raw = Buffer.from(piece.repeat(Math.ceil(length / piece.length)))
      const start = process.cpuUsage().user
      for (let n = 0; n < 4; n++) readHeader(splitMessage(raw).header)
      return process.cpuUsage().user - start
    }
    time(60_000)
    const [short, long] = [time(60_000), time(480_000)]
    t.ok(long < 24 * short + 100_000, `${JSON.stringify(piece)}: ${short} and ${long} µs for 8 times as much`)
  }
})
