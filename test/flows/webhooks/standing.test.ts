import fc from 'fast-check'
import t from 'tap'
import { now } from '#lib/clock.ts'
import { newId } from '#lib/ids.ts'
import { addResult, isToRest, STANDING_RULES } from '#lib/webhooks/standing.ts'
import { settleWebhooks } from '#sql/webhooks/due_events.ts'
import { addWebhook } from '#test/support/webhooks/add_webhook.ts'
import { announce, readWebhook } from '#test/support/webhooks/announced_events.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

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

t.test('an endpoint rests twice as long after each failure, up to the longest rest', async t => {
  const account = await newAccount(world)
  const { id } = await addWebhook(world, account.id, { endpoint: 'https://h.acme.com/', events: ['*'] })
  await announce(world, account.id, 10)
  const { rows: events } = await pg.query('SELECT id FROM webhook_events WHERE account_id = $1 ORDER BY id', [
    account.id,
  ])
  const failure = {
    ...{ account_id: account.id, webhook_id: Number(id), endpoint: 'https://h.acme.com/', attempt: 0 },
    ...{ is_success: false, is_gone: false, status: 500, ms: 1, error: 'x', response: '', started_at: now() },
    ...{ delay: 1, rest: null, is_hung: false },
  }
  const rests: (number | null)[] = []
  for (const event of events) {
    const result = { ...failure, event_id: event.id, id: newId() }
    await settleWebhooks(world.pool, [result], { first_rest_seconds: 100, longest_rest_seconds: 1_000 })
    const { rests: seconds } = await readWebhook(world, id)
    rests.push(seconds && Math.round(seconds / 10) * 10)
  }
  t.strictSame(rests, [null, null, null, null, 100, 200, 400, 800, 1_000, 1_000])
})
