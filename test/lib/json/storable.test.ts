import fc from 'fast-check'
import t from 'tap'
import { findUnstorable } from '#lib/json/unstorable_json.ts'

const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth))

t.test('findUnstorable accepts ordinary bodies', async t => {
  for (const value of [
    null,
    0,
    true,
    '',
    'Grüße 👍',
    [],
    {},
    { to: ['a@b.co'], tags: [{ name: 'a\tb', value: '\r\n' }] },
  ]) {
    t.equal(findUnstorable(value), null)
  }
})

t.test('findUnstorable names the path of what Postgres refuses', async t => {
  const lone = '\ud83d'
  t.equal(findUnstorable({ subject: 'a\0b' }), 'subject contains a NUL character')
  t.equal(findUnstorable({ subject: `a${lone}` }), 'subject contains a lone surrogate')
  t.equal(findUnstorable({ subject: `\ude00${lone}` }), 'subject contains a lone surrogate')
  t.equal(findUnstorable({ to: ['a', 'b\0'] }), 'to[1] contains a NUL character')
  t.equal(findUnstorable([{}, { tags: [{ value: lone }] }]), '[1].tags[0].value contains a lone surrogate')
  t.equal(findUnstorable('\0'), 'body contains a NUL character')
})

t.test('findUnstorable checks keys like values and does not repeat bad ones', async t => {
  t.equal(findUnstorable({ 'a\0': 1 }), 'body has a key that contains a NUL character')
  t.equal(findUnstorable({ variables: { '\udc00': 1 } }), 'variables has a key that contains a lone surrogate')
  t.equal(findUnstorable(JSON.parse('{"__proto__":{"a":"\\u0000"}}')), '__proto__.a contains a NUL character')
  t.equal(findUnstorable(Object.create({ inherited: '\0' })), null)
})

t.test('findUnstorable limits nesting', async t => {
  t.equal(findUnstorable(nested(100)), null)
  t.match(findUnstorable(nested(101)), /^\[0\]\[0\].* is nested deeper than 100 levels$/)
  t.match(findUnstorable(nested(50_000)), / is nested deeper than 100 levels$/)
  t.equal(findUnstorable({ a: { b: {} } }, 2), 'a.b is nested deeper than 2 levels')
  t.equal(findUnstorable({ a: { b: 1 } }, 2), null)
})

t.test('the message of findUnstorable is storable itself', async t => {
  const reason = findUnstorable({ [`${'a'.repeat(199)}👍${'a'.repeat(100_000)}`]: '\0' })
  t.equal(reason?.length, 200 + '… contains a NUL character'.length)
  t.equal(findUnstorable(reason), null)
})

t.test('findUnstorable agrees with a plain search of the JSON', async t => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: fc.constantFrom('a', '\0', '\ud800', '\udc00') }),
  )
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.object({ key: text, values: [text, fc.integer()], maxDepth: 4 }), value => {
        const bad = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(JSON.stringify(value))
        return (findUnstorable(value) !== null) === bad
      }),
      { numRuns: 3000 },
    ),
  )
})
