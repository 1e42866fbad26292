import t from 'tap'
import { nextRetryDelay, retryDelay } from '#lib/delivery/retry_schedule.ts'

t.test('retryDelay grows from one minute to four hours', async t => {
  const minutes = [1, 2, 3, 4, 5, 6, 7, 8, 20].map(attempt => retryDelay(attempt, () => 0.5) / 60)
  t.strictSame(minutes, [1, 5, 10, 30, 60, 120, 240, 240, 240])
})

t.test('retryDelay varies by a fifth in both directions', async t => {
  t.equal(
    retryDelay(2, () => 0),
    240,
  )
  t.equal(
    retryDelay(2, () => 1),
    360,
  )
  const delays = Array.from({ length: 1000 }, () => retryDelay(7))
  t.ok(Math.min(...delays) >= 0.8 * 14_400 && Math.min(...delays) < 0.85 * 14_400)
  t.ok(Math.max(...delays) <= 1.2 * 14_400 && Math.max(...delays) > 1.15 * 14_400)
})

t.test('retryDelay makes 24 attempts in 72 hours', async t => {
  let hours = 0 // until give_up_after() of sql/delivery
  let attempts = 0
  while (hours < 72) hours += retryDelay(++attempts, () => 0.5) / 3600
  t.equal(attempts, 24)
})

t.test('nextRetryDelay waits slightly longer than the server asks, six times', async t => {
  t.strictSame(
    [0, 1].map(random => nextRetryDelay(1, 300, () => random)),
    [301, 331],
  )
  t.equal(
    nextRetryDelay(6, 30, () => 0),
    31,
  )
  t.equal(
    nextRetryDelay(7, 30, () => 0.5),
    4 * 3600,
  )
  t.equal(
    nextRetryDelay(2, undefined, () => 0.5),
    300,
  )
})
