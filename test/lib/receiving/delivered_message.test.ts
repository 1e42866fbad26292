import { deepEqual, equal } from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import PostalMime from 'postal-mime'
import t from 'tap'
import { deliveredMessage } from '#lib/receiving/delivered_message.ts'
import { type Trace, traceFields } from '#lib/receiving/trace_fields.ts'

const TRACE: Trace = {
  mail_from: 'ann@y.com',
  client: { address: '192.0.2.1', helo: 'mail.y.com', tls: 'TLSv1.3', protocol: 'ESMTPS' },
  by: 'mx.acme.com',
  id: '0190',
  received_at: new Date('2026-11-02T09:05:07Z'),
}

t.test('traceFields names the envelope sender and the client', async t => {
  t.equal(
    traceFields(TRACE),
    'Return-Path: <ann@y.com>\r\nReceived: from mail.y.com ([192.0.2.1])\r\n\tby mx.acme.com with ESMTPS\r\n' +
      '\tid 0190; Mon, 02 Nov 2026 09:05:07 +0000\r\n',
  )
})

t.test('traceFields accepts anything a client sends', async t => {
  const { protocol: _, ...client } = TRACE.client
  const cases: [Partial<Trace>, RegExp][] = [
    [{ mail_from: '' }, /^Return-Path: <>\r\n/],
    [{ mail_from: '"a b"@y.com' }, /^Return-Path: <"a b"@y\.com>\r\n/],
    [{ mail_from: 'a>\r\nX: y\0@y.com' }, /^Return-Path: <aX: y@y\.com>\r\nReceived: /],
    [
      { client: { ...client, helo: '[192.0.2.1]', address: '::1' } },
      /^Received: from \[192\.0\.2\.1\] \(\[IPv6:::1\]\)\r$/m,
    ],
    [
      { client: { ...client, helo: 'a(b', address: '::ffff:192.0.2.9' } },
      /^Received: from unknown \(\[192\.0\.2\.9\]\)\r$/m,
    ],
    [{ client }, / with ESMTPS\r$/m],
    [{ client: { ...client, tls: null } }, / with ESMTP\r$/m],
  ]
  for (const [part, pattern] of cases) t.match(traceFields({ ...TRACE, ...part }), pattern)
})

const field = fc.constantFrom(
  ...['Subject: x', 'Return-Path: <evil@z.com>', 'return-path:<e@z.com>', 'RETURN-PATH : <e@z.com>\r\n\t(folded)'],
  ...['X-Return-Path: y', 'Received: from a\r\n by b', 'To: me@acme.com', 'X: Return-Path: z'],
)
const messages = fc.record({
  fields: fc.array(field, { maxLength: 9 }),
  body: fc.constantFrom(
    '',
    'Return-Path: <kept@y.com>\r\n',
    'x'.repeat(5_000),
    '\r\n\r\nReturn-Path: <kept@y.com>\r\n\r\n',
  ),
  cuts: fc.array(fc.nat(300), { maxLength: 5 }),
})

t.test('a served message has our Return-Path, none of the sender, and the announced size', async () => {
  const property = fc.asyncProperty(messages, async ({ fields, body, cuts }) => {
    const message = (all: string[]) => `${all.map(field => `${field}\r\n`).join('')}\r\n${body}`
    const stored = Buffer.from(message(fields))
    const { size, pieces } = await deliveredMessage(traceFields(TRACE), {
      size: stored.length,
      pieces: cut(stored, cuts),
    })
    const served = await text(pieces)
    equal(Buffer.byteLength(served), size)
    const kept = fields.filter(field => !/^return-path/i.test(field))
    equal(served, traceFields(TRACE) + message(kept))
    const { headers } = await PostalMime.parse(served)
    deepEqual(
      headers.filter(({ key }) => key === 'return-path').map(({ value }) => value),
      ['<ann@y.com>'],
    )
  })
  await fc.assert(property)
})

async function* cut(bytes: Buffer, cuts: number[]): AsyncGenerator<Buffer> {
  let start = 0
  for (const end of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
    yield bytes.subarray(start, end)
    start = Math.min(end, bytes.length)
  }
}
