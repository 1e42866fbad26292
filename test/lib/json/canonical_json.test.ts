import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { canonicalJson, fingerprint } from '#lib/json/canonical_json.ts'

t.test('canonicalJson writes the examples of RFC 8785', async t => {
  // 3.2.2
  const literals = JSON.parse(String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`)
  t.equal(
    canonicalJson(literals),
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  )
  // 3.2.3: sorted by UTF-16 units, so the emoji comes before U+FB33.
  const keys = { '\u20ac': 5, '\r': 1, '\ufb33': 7, '1': 2, '\u{1f600}': 6, '\u0080': 3, '\u00f6': 4 }
  t.strictSame(Object.values(JSON.parse(canonicalJson(keys))), [2, 1, 3, 4, 5, 6, 7])
  t.equal(canonicalJson(keys), '{"\\r":1,"1":2,"\u0080":3,"ö":4,"€":5,"😀":6,"\ufb33":7}')
})

t.test('canonicalJson ignores inherited members and keeps own ones of any name', async t => {
  t.equal(canonicalJson(JSON.parse('{"__proto__":1,"constructor":2}')), '{"__proto__":1,"constructor":2}')
  t.equal(canonicalJson({ b: undefined, a: [undefined] }), '{"a":[null]}')
})

t.test('canonicalJson equals JSON except for the order of keys', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.json(), json => {
        const value = JSON.parse(json)
        const text = canonicalJson(value)
        return isDeepStrictEqual(JSON.parse(text), value) && canonicalJson(reversed(value)) === text
      }),
      { numRuns: 2000 },
    ),
  )
})

t.test('fingerprint depends on the method, the route and the body', async t => {
  const of = async (...args: Parameters<typeof fingerprint>) => (await fingerprint(...args)).toString('hex')
  const expected = createHash('sha256').update('POST\n/emails\n{"a":1,"b":"in 2 hours"}').digest('hex')
  t.equal(await of('POST', '/emails', { b: 'in 2 hours', a: 1 }), expected)
  t.not(await of('POST', '/emails/batch', { b: 'in 2 hours', a: 1 }), expected)
  t.not(await of('PATCH', '/emails', { b: 'in 2 hours', a: 1 }), expected)
  t.not(await of('POST', '/emails', { b: 'in 3 hours', a: 1 }), expected)
  t.not(await of('POST', '/emails', { b: 'in 2 hours', a: '1' }), expected)
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.entries(value).reverse()
  // Not by assignment, because `__proto__` is an ordinary key here.
  return Object.fromEntries(copy.map(([key, member]) => [key, reversed(member)]))
}
