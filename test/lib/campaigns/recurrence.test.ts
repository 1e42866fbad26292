import fc from 'fast-check'
import t from 'tap'
import { firstLocalTime, localTimeFrom, localTimes } from '#lib/campaigns/local_time.ts'
import { countSkipped, nextRun, type Recurrence, type Rhythm } from '#lib/campaigns/recurrence.ts'
import { isTimeZone } from '#lib/time_zones.ts'
import { addMonths, momentOf, wallOf } from '#test/support/wall_clock.ts'

const ZONES = Intl.supportedValuesOf('timeZone')
const DAY_MS = 24 * 60 * 60_000

const rhythm = (recurrence: Recurrence, first: string, timezone: string, fields: Partial<Rhythm> = {}): Rhythm => ({
  ...{ recurrence, recurrence_every: 1, timezone, first_run_at: new Date(first), send_in_local_time: false, ...fields },
})

/** The runs that follow the first one. */
function runsOf(given: Rhythm, count: number): string[] {
  const runs: string[] = []
  for (let last = given.first_run_at; runs.length < count; ) {
    last = nextRun(given, last, last).at
    runs.push(last.toISOString())
  }
  return runs
}

t.test('a daily campaign keeps its time of day across DST changes', async t => {
  t.strictSame(runsOf(rhythm('daily', '2026-03-27T08:00:00Z', 'Europe/Berlin'), 3), [
    ...['2026-03-28T08:00:00.000Z', '2026-03-29T07:00:00.000Z', '2026-03-30T07:00:00.000Z'],
  ])
})

t.test('a time in a DST gap moves after it, and a repeated time is the first', async t => {
  t.strictSame(runsOf(rhythm('daily', '2026-03-28T01:30:00Z', 'Europe/Berlin'), 2), [
    ...['2026-03-29T01:30:00.000Z', '2026-03-30T00:30:00.000Z'], // 03:30, then 02:30 again
  ])
  t.strictSame(runsOf(rhythm('daily', '2026-10-24T00:30:00Z', 'Europe/Berlin'), 2), [
    ...['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'],
  ])
})

t.test('a monthly campaign of the 31st runs on the last day of shorter months', async t => {
  const days = runsOf(rhythm('monthly', '2027-12-31T09:00:00Z', 'UTC'), 4).map(at => at.slice(0, 10))
  t.strictSame(days, ['2028-01-31', '2028-02-29', '2028-03-31', '2028-04-30'])
})

t.test('a yearly campaign of 29 February runs on the 28th in other years', async t => {
  const days = runsOf(rhythm('monthly', '2028-02-29T09:00:00Z', 'UTC', { recurrence_every: 12 }), 4)
  t.strictSame(
    days.map(at => at.slice(0, 10)),
    ['2029-02-28', '2030-02-28', '2031-02-28', '2032-02-29'],
  )
})

t.test('a weekly campaign keeps the time of day of its timezone across DST changes', async t => {
  t.strictSame(runsOf(rhythm('weekly', '2026-11-01T05:30:00Z', 'America/New_York', { recurrence_every: 2 }), 1), [
    '2026-11-15T06:30:00.000Z',
  ])
})

const moment = fc
  .integer({ min: Date.UTC(2024, 0), max: Date.UTC(2036, 0) })
  .map(seconds => seconds - (seconds % 1_000))

t.test('recurring runs match an independent calendar', async t => {
  const any = fc.record({
    recurrence: fc.constantFrom<Recurrence>('daily', 'weekly', 'monthly'),
    recurrence_every: fc.integer({ min: 1, max: 20 }),
    timezone: fc.constantFrom(...ZONES),
    first: moment,
    later: fc.integer({ min: 0, max: 3 * 365 * DAY_MS }),
  })
  fc.assert(
    fc.property(any, ({ recurrence, recurrence_every, timezone, first, later }) => {
      const given = rhythm(recurrence, new Date(first).toISOString(), timezone, { recurrence_every })
      const now = new Date(first + later)
      const { at, number, begins_at } = nextRun(given, given.first_run_at, now)
      const wall = wallOf(first, timezone)
      const planned = (n: number) => {
        const count = n * recurrence_every
        const days = recurrence === 'weekly' ? 7 * count : count
        return momentOf(recurrence === 'monthly' ? addMonths(wall, count) : wall + days * DAY_MS, timezone)
      }
      t.equal(at.getTime(), planned(number), `${timezone} ${new Date(first).toISOString()} ${at.toISOString()}`)
      t.ok(at > now && begins_at.getTime() === at.getTime())
      t.ok(number === 1 || planned(number - 1) <= now.getTime(), 'none is left out')
      t.equal(countSkipped(given, given.first_run_at, { at, number, begins_at }), number - 1)
    }),
    { numRuns: 120 },
  )
})

t.test('localTimes finds the same time of day in every timezone, once', async t => {
  fc.assert(
    fc.property(moment, fc.constantFrom(...ZONES), (first, timezone) => {
      const at = new Date(first)
      const wall = wallOf(first, timezone)
      const times = localTimes(at, timezone, fc.sample(fc.constantFrom(...ZONES), 20))
      const begins_at = firstLocalTime(at, timezone)
      for (const [zone, time] of times) {
        t.equal(time.getTime(), momentOf(wall, zone), `${zone} ${timezone} ${at.toISOString()}`)
        t.ok(time >= begins_at)
      }
      const moves = localTimeFrom(begins_at, timezone).getTime()
      t.equal(moves, momentOf(wall, timezone))
    }),
    { numRuns: 15 },
  )
  const times = localTimes(new Date('2026-03-29T01:30:00Z'), 'UTC', [
    ...ZONES,
    'Europe/Kiev',
    'FOO5',
    'IST',
    '',
    '+02:00',
    'x'.repeat(100),
  ])
  t.equal(times.size, new Set([...ZONES, 'Europe/Kiev']).size)
  const shown = ['Pacific/Kiritimati', 'Asia/Katmandu', 'Europe/London', 'America/New_York', 'Pacific/Midway']
  t.strictSame(
    shown.map(zone => times.get(zone)?.toISOString().slice(5, 16)),
    ['03-28T11:30', '03-28T19:45', '03-29T01:30', '03-29T05:30', '03-29T12:30'], // London skips 01:30
  )
})

t.test('isTimeZone accepts names and aliases, and no offsets', async t => {
  for (const name of [...ZONES, 'Europe/Kyiv', 'Europe/Kiev', 'UTC', 'Asia/Calcutta', 'europe/berlin', 'EST5EDT']) {
    t.ok(isTimeZone(name), name)
  }
  for (const name of ['IST', 'PST', 'bst']) t.notOk(isTimeZone(name), 'Temporal does not know it')
  for (const name of ['', 'FOO5', '+02:00', '-0500', 'Europe/Atlantis', 'Europe/Berlin\n', 'Z'.repeat(1_000)]) {
    t.notOk(isTimeZone(name), name)
  }
})
