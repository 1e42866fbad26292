import t from 'tap'
import { clickWithoutPostgres } from '#test/faults/click_without_postgres.ts'
import { guessTokens } from '#test/faults/guess_tokens.ts'
import { killTracking } from '#test/faults/kill_tracking.ts'
import { startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

t.test('a killed web process loses the hits of a moment, and all figures stay consistent', async t => {
  const stage = await openTestStage(t)
  passes(t, await killTracking(stage, { kills: 2, emails: 40, visitors: 4, most_ms: 1_500 }))
})

t.test('links redirect while Postgres is down, and clicks are recorded afterwards', async t => {
  const stage = await openTestStage(t)
  const proxy = await startPgProxy(stage.url)
  t.teardown(() => proxy.close())
  const leave = async () => {
    proxy.refuse(true)
    proxy.cut()
  }
  const come = async () => proxy.refuse(false)
  const options = { rate: 100, seconds: 3, recipients: 200, most_ms: Number.POSITIVE_INFINITY }
  passes(t, await clickWithoutPostgres(stage, options, { leave, come, environment: { DATABASE_URL: proxy.url } }))
})

t.test('guessed tokens of links, pixels, polls and unsubscribes are refused', async t => {
  passes(t, guessTokens({ tokens: 20_000, rounds: 0 }))
})
