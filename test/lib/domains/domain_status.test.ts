import fc from 'fast-check'
import t from 'tap'
import {
  type DomainState,
  DomainStatus,
  isSendable,
  nextDomainState,
  type RecordState,
  WINDOW_MS,
} from '#lib/domains/domain_status.ts'

const NOW = new Date('2026-06-01T12:00:00Z')
const MINUTE = 60_000
const HOUR = 60 * MINUTE

function ago(ms: number): Date {
  return new Date(NOW.getTime() - ms)
}

type Given = { status: DomainStatus; age?: number; required?: RecordState; features?: RecordState }

function next({ status, age, required = 'ok', features = 'ok' }: Given) {
  const window_since = age === undefined ? null : ago(age)
  const state: DomainState = { status, window_since, verified_at: null, return_path_verified: false }
  return nextDomainState(state, { required, features, return_path: null }, NOW)
}

const OVER = WINDOW_MS
const BEFORE = WINDOW_MS - 1
const transitions: [Given, DomainStatus][] = [
  [{ status: 'pending', age: 0 }, 'verified'],
  [{ status: 'pending', age: OVER }, 'verified'],
  [{ status: 'pending', age: 0, features: 'gone' }, 'partially_verified'],
  [{ status: 'pending', age: 0, features: 'unknown' }, 'partially_verified'],
  [{ status: 'pending', age: BEFORE, required: 'gone' }, 'pending'],
  [{ status: 'pending', age: OVER, required: 'gone' }, 'failed'],
  [{ status: 'pending', age: OVER, required: 'unknown' }, 'pending'],
  [{ status: 'verified' }, 'verified'],
  [{ status: 'verified', features: 'unknown' }, 'verified'],
  [{ status: 'verified', required: 'unknown' }, 'verified'],
  [{ status: 'verified', features: 'gone' }, 'partially_verified'],
  [{ status: 'verified', required: 'unknown', features: 'gone' }, 'partially_verified'],
  [{ status: 'verified', required: 'gone' }, 'partially_failed'],
  [{ status: 'partially_verified', age: OVER }, 'verified'],
  [{ status: 'partially_verified', age: OVER, features: 'gone' }, 'partially_verified'],
  [{ status: 'partially_verified', features: 'unknown' }, 'partially_verified'],
  [{ status: 'partially_verified', required: 'unknown' }, 'partially_verified'],
  [{ status: 'partially_verified', age: OVER, required: 'gone' }, 'partially_failed'],
  [{ status: 'partially_failed', age: 0 }, 'verified'],
  [{ status: 'partially_failed', age: OVER }, 'verified'],
  [{ status: 'partially_failed', age: 0, features: 'gone' }, 'partially_verified'],
  [{ status: 'partially_failed', age: 0, features: 'unknown' }, 'partially_verified'],
  [{ status: 'partially_failed', age: BEFORE, required: 'gone' }, 'partially_failed'],
  [{ status: 'partially_failed', age: OVER, required: 'gone' }, 'failed'],
  [{ status: 'partially_failed', age: OVER, required: 'unknown' }, 'partially_failed'],
  [{ status: 'failed' }, 'failed'],
  [{ status: 'failed', required: 'gone' }, 'failed'],
  [{ status: 'not_started' }, 'not_started'],
]

for (const [given, status] of transitions) {
  t.test(`${JSON.stringify(given)} becomes ${status}`, async t => t.equal(next(given).status, status))
}

t.test('the window begins when the status changes, and continues while it stays', async t => {
  t.strictSame(next({ status: 'verified', required: 'gone' }).window_since, NOW)
  t.strictSame(next({ status: 'partially_failed', age: HOUR, required: 'gone' }).window_since, ago(HOUR))
  t.strictSame(next({ status: 'partially_failed', age: HOUR, required: 'unknown' }).window_since, ago(HOUR))
  t.strictSame(next({ status: 'partially_verified', age: OVER, required: 'gone' }).window_since, NOW)
  t.equal(next({ status: 'partially_failed', age: HOUR }).window_since, null)
  t.equal(next({ status: 'pending', age: OVER, required: 'gone' }).window_since, null)
})

t.test('a domain is checked often while records are missing, daily when verified', async t => {
  const wait = (given: Given) => {
    const { check_at } = next(given)
    return check_at && (check_at.getTime() - NOW.getTime()) / MINUTE
  }
  const gone = { required: 'gone' } as const
  t.equal(wait({ status: 'pending', age: 0, ...gone }), 1)
  t.equal(wait({ status: 'pending', age: 50 * MINUTE, ...gone }), 5)
  t.equal(wait({ status: 'pending', age: 5 * HOUR, ...gone }), 15)
  t.equal(wait({ status: 'pending', age: OVER, required: 'unknown' }), 60)
  t.equal(wait({ status: 'partially_verified', age: 0, features: 'gone' }), 5)
  t.equal(wait({ status: 'partially_verified', age: 5 * HOUR, features: 'gone' }), 30)
  t.equal(wait({ status: 'partially_verified', age: OVER, features: 'gone' }), 60)
  t.equal(wait({ status: 'partially_verified', age: OVER, features: 'unknown' }), 15)
  t.equal(wait({ status: 'partially_failed', age: HOUR, ...gone }), 15)
  t.equal(wait({ status: 'verified' }), 24 * 60)
  t.equal(wait({ status: 'verified', required: 'unknown' }), 15)
  t.equal(wait({ status: 'failed' }), null)
  t.equal(wait({ status: 'not_started' }), null)
  t.equal(wait({ status: 'pending', age: OVER, ...gone }), null)
})

const recordState = fc.constantFrom<RecordState>('ok', 'gone', 'unknown')
const state = fc.record<DomainState>({
  status: fc.constantFrom(...DomainStatus.options),
  window_since: fc.option(fc.integer({ min: 0, max: 2 * WINDOW_MS }).map(ago)),
  verified_at: fc.option(fc.constant(ago(OVER))),
  return_path_verified: fc.boolean(),
})
const recordStates = fc.record({ required: recordState, features: recordState, return_path: fc.option(recordState) })
const RANK = ['failed', 'not_started', 'pending', 'partially_failed', 'partially_verified', 'verified']

t.test('unknown results change neither the status nor the return path', async t => {
  const unknown = { required: 'unknown', features: 'unknown', return_path: 'unknown' } as const
  fc.assert(
    fc.property(state, before => {
      const after = nextDomainState(before, unknown, NOW)
      return after.status === before.status && after.return_path_verified === before.return_path_verified
    }),
  )
  t.pass('it holds')
})

t.test('an unknown record is never worse than a missing one, nor better than a found one', async t => {
  fc.assert(
    fc.property(state, recordStates, fc.constantFrom('required', 'features'), (before, found, part) => {
      const rank = (value: RecordState) =>
        RANK.indexOf(nextDomainState(before, { ...found, [part]: value }, NOW).status)
      return rank('unknown') >= rank('gone') && rank('unknown') <= Math.max(rank('ok'), RANK.indexOf(before.status))
    }),
  )
  t.pass('it holds')
})

t.test('a domain has a next check unless failed or not started; verified_at is set once it may send', async t => {
  fc.assert(
    fc.property(state, recordStates, fc.double({ min: -1, max: 1, noNaN: true }), (before, found, spread) => {
      const after = nextDomainState(before, found, NOW, spread)
      const wait = after.check_at === null ? null : after.check_at.getTime() - NOW.getTime()
      const isAsked = after.status !== 'failed' && after.status !== 'not_started'
      const isNew = isSendable(after.status) && !isSendable(before.status)
      return (
        isAsked === (wait !== null) &&
        (wait === null || (wait >= 0.9 * MINUTE && wait <= 1.1 * 24 * HOUR)) &&
        after.verified_at === (isNew ? NOW : before.verified_at)
      )
    }),
  )
  t.pass('it holds')
})
