import fc from 'fast-check'
import t from 'tap'
import { addResult, isToRest, STANDING_RULES } from '#lib/webhooks/standing.ts'
import { openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool

t.test('isToRest() is true if nearly all of the last attempts failed', t => {
  for (const [results, expected] of [
    ['ffff', false],
    ['fffff', true],
    ['sffffffff', false], // eight of nine
    ['sfffffffff', true],
    ['ssssssssssssssffffff', false],
    ['ssffffffffffffffffff', true],
    ['fffffs', false],
    ['sssssssssshhhhh', true],
    ['sssssssssshhhhf', false],
  ] as const) {
    t.equal(isToRest(results), expected, results)
  }
  t.end()
})

t.test('the worker and Postgres judge the results of attempts alike', async t => {
  const results = fc.array(fc.constantFrom('s', 'f', 'f', 'f', 'h', 'h') as fc.Arbitrary<'s' | 'f' | 'h'>, {
    maxLength: 60,
  })
  await fc.assert(
    fc.asyncProperty(results, fc.nat(60), async (results, cut) => {
      const known = results.slice(0, cut).reduce(addResult, '')
      const { rows } = await pg.query(
        `SELECT r AS results, webhook_is_to_rest(r, rules) AS is_to_rest
         FROM json_populate_record(NULL::webhook_rules, $3) AS rules, webhook_results($1, $2, rules) AS r`,
        [known, results.slice(cut).join(''), STANDING_RULES],
      )
      const expected = results.reduce(addResult, '')
      t.same(rows, [{ results: expected, is_to_rest: isToRest(expected) }])
    }),
    { numRuns: 200 },
  )
})
