import t from 'tap'
import { shows } from '#test/support/shows.ts'

/** Returns whether `shows` passes: the two values it hands to tap must be the same. */
function passes(found: unknown, expected: unknown): boolean {
  const compared: string[] = []
  const strictSame = (...values: unknown[]) => {
    compared.push(...values.slice(0, 2).map(value => JSON.stringify(value, (_, one) => textOf(one))))
    return true
  }
  shows({ strictSame } as never, found, expected)
  return compared[0] === compared[1]
}

/** JSON supports neither of them. */
function textOf(value: unknown): unknown {
  return value instanceof RegExp || typeof value === 'function' ? String(value) : value
}

t.test('shows compares objects partially, and lists and strings exactly', async t => {
  t.ok(passes({ a: 1, b: [{ c: 'x', d: 2 }] }, { b: [{ c: 'x' }] }))
  t.ok(passes({ reason: 'it failed', at: new Date() }, { reason: /failed/, at: Date }))
  t.ok(passes({ b: [1, 2] }, { b: { length: 2 } }))
  t.notOk(passes({ b: [1, 2] }, { b: { length: 1 } }), 'a list of another length')
  t.notOk(passes({ b: [1, 2] }, { b: {} }), 'a list where an object should be')
  t.notOk(passes({ b: [{ c: 'x' }, { c: 'x' }] }, { b: [{ c: 'x' }] }), 'a list that is longer')
  t.notOk(passes({ b: [1] }, { b: [] }), 'a list that should be empty')
  t.notOk(passes({ status: 'partially_verified' }, { status: 'verified' }), 'a part of a string')
  t.notOk(passes({ reason: 'it went well' }, { reason: /failed/ }))
  t.notOk(passes({}, { a: null }), 'a member that is missing')
})
