import fc from 'fast-check'
import t from 'tap'
import { endOfDelay } from '#lib/automations/evaluate/end_of_delay.ts'

const end = (until: { time: string; days?: string[]; timezone: string }, now: string, timezone: string | null = null) =>
  endOfDelay({ until } as Parameters<typeof endOfDelay>[0], new Date(now), timezone).toISOString()

t.test('endOfDelay adds a duration', async t => {
  const now = new Date('2026-02-27T10:00:00Z')
  t.equal(endOfDelay({ duration: '1 day 12 hours' }, now, null).toISOString(), '2026-02-28T22:00:00.000Z')
})

t.test('endOfDelay finds the next time of day in the timezone', async t => {
  t.equal(end({ time: '09:00', timezone: 'UTC' }, '2026-01-05T08:59:59Z'), '2026-01-05T09:00:00.000Z')
  t.equal(end({ time: '09:00', timezone: 'UTC' }, '2026-01-05T09:00:00Z'), '2026-01-06T09:00:00.000Z')
  t.equal(end({ time: '09:00', timezone: 'America/New_York' }, '2026-01-05T09:00:00Z'), '2026-01-05T14:00:00.000Z')
  t.equal(end({ time: '09:00', timezone: 'contact' }, '2026-01-05T09:00:00Z', 'Asia/Tokyo'), '2026-01-06T00:00:00.000Z')
})

t.test('endOfDelay skips days that are not listed', async t => {
  const until = { time: '09:00', days: ['monday'], timezone: 'UTC' }
  t.equal(end(until, '2026-01-05T08:00:00Z'), '2026-01-05T09:00:00.000Z', 'a Monday')
  t.equal(end(until, '2026-01-05T10:00:00Z'), '2026-01-12T09:00:00.000Z')
})

t.test('endOfDelay moves a time in a DST gap after it, and uses the first of two', async t => {
  const berlin = (time: string, now: string) => end({ time, timezone: 'Europe/Berlin' }, now)
  t.equal(berlin('02:30', '2026-03-28T12:00:00Z'), '2026-03-29T01:30:00.000Z', '03:30 in summer time')
  t.equal(berlin('02:30', '2026-10-24T12:00:00Z'), '2026-10-25T00:30:00.000Z', 'still in summer time')
})

t.test('endOfDelay throws for a missing or unknown timezone', async t => {
  const until = { time: '09:00', timezone: 'contact' }
  const of = (timezone: string | null) => () => end(until, '2026-01-05T09:00:00Z', timezone)
  t.throws(of(null), /The contact has no `timezone`/)
  t.throws(of('FOO5'), /"FOO5" is not a time zone/)
})

t.test('endOfDelay returns a later time, at the given time of day', async () => {
  const zones = Intl.supportedValuesOf('timeZone')
  const moments = fc.date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
  fc.assert(
    fc.property(fc.constantFrom(...zones), moments, fc.integer({ min: 5, max: 23 }), (timezone, now, hour) => {
      const time = `${String(hour).padStart(2, '0')}:15`
      const at = new Date(end({ time, timezone }, now.toISOString()))
      const format = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' })
      return at > now && at.getTime() - now.getTime() <= 49 * 60 * 60_000 && format.format(at) === time
    }),
    { numRuns: 300 },
  )
})
