import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { parseSchedule, readSchedule } from '#lib/sending/schedule.ts'

const HOUR = 3_600_000
const NOW = new Date('2026-11-21T16:00:00Z') // a Saturday
const parse = (text: string) => parseSchedule(text, NOW)?.toISOString() ?? null

t.test('ISO 8601 timestamps are read exactly, as UTC if they have no offset', async t => {
  for (const [text, moment] of Object.entries({
    '2026-12-01T10:00:00Z': '2026-12-01T10:00:00.000Z',
    '2026-12-01t10:00:00.123456z': '2026-12-01T10:00:00.123Z',
    '2026-12-01T10:00:00+02:00': '2026-12-01T08:00:00.000Z',
    '2026-12-01T23:30-05:30': '2026-12-02T05:00:00.000Z',
    '2026-12-01 10:00': '2026-12-01T10:00:00.000Z',
    ' 2026-12-01 ': '2026-12-01T00:00:00.000Z',
    '2028-02-29T00:00:00Z': '2028-02-29T00:00:00.000Z',
    '20261201T100000Z': '2026-12-01T10:00:00.000Z',
    '20261201t100000+0200': '2026-12-01T08:00:00.000Z',
    '20261201T2330-05:30': '2026-12-02T05:00:00.000Z',
    '20261201T100000': '2026-12-01T10:00:00.000Z',
  })) {
    t.equal(parse(text), moment, text)
  }
})

t.test('phrases are relative to now, in UTC, and mean the future', async t => {
  for (const [text, moment] of Object.entries({
    'in 2 hours': '2026-11-21T18:00:00.000Z',
    'in 1 min': '2026-11-21T16:01:00.000Z',
    'in two weeks': '2026-12-05T16:00:00.000Z',
    'tomorrow at 9am': '2026-11-22T09:00:00.000Z',
    'Tomorrow at 9am PST': '2026-11-22T17:00:00.000Z',
    'next monday 14:30': '2026-11-23T14:30:00.000Z',
    'friday at noon': '2026-11-27T12:00:00.000Z',
    '5pm': '2026-11-21T17:00:00.000Z',
    '9am': '2026-11-22T09:00:00.000Z',
    'march 1 at 10:00': '2027-03-01T10:00:00.000Z',
  })) {
    t.equal(parse(text), moment, text)
  }
})

t.test('phrases that could be taken for a time hours or days away are refused', async t => {
  const nights = [
    'tonight at midnight',
    'tomorrow night at midnight',
    'tonight at 12',
    'friday night at 12:30',
    'tomorrow at 12 at night',
  ]
  for (const text of [...nights, 'last monday', 'past friday', 'monday last week']) {
    for (const hour of [8, 13, 23]) {
      const schedule = readSchedule(text, new Date(Date.UTC(2026, 10, 25, hour)))
      t.ok(schedule === null || schedule.fault === 'schedule_past', `${text} at ${hour}:00`)
    }
  }
  t.equal(parse('tonight at 11:12pm'), '2026-11-21T23:12:00.000Z')
  t.equal(parse('december 12 at 8 at night'), '2026-12-12T20:00:00.000Z')
  t.equal(parse('tomorrow at midnight'), '2026-11-22T00:00:00.000Z')
})

t.test('a phrase does not depend on the timezone of the process or DST changes', async t => {
  const days = ['2026-03-07', '2026-03-08', '2026-03-28', '2026-03-29', '2026-10-24', '2026-10-25', '2026-11-01']
  const moments = days.flatMap(day => [0, 45, 125, 150, 185, 1_439].map(m => Date.parse(`${day}T00:00Z`) + m * 60_000))
  const phrases = [
    'in 2 hours',
    'in 1 day',
    'tomorrow',
    'tomorrow at 02:30',
    'next sunday 02:30',
    '2:30am',
    'in 1 week',
  ]
  const script = `
    import '${new URL('../../../lib/config.ts', import.meta.url)}'
    import { parseSchedule } from '${new URL('../../../lib/sending/schedule.ts', import.meta.url)}'
    const read = (text, now) => parseSchedule(text, new Date(now)).getTime()
    console.log(JSON.stringify(${JSON.stringify(moments)}.map(now => ${JSON.stringify(phrases)}.map(text => read(text, now)))))
  `
  const run = async (TZ: string): Promise<number[][]> => {
    const args = ['--input-type=module', '-e', script]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: { TZ } })
    return JSON.parse(stdout)
  }
  const [inUtc, ...others] = await Promise.all(['UTC', 'America/New_York', 'Europe/Berlin'].map(run))
  for (const [i, now] of moments.entries()) {
    const [in2Hours, in1Day, tomorrow, ...ofDay] = inUtc?.[i] ?? []
    t.strictSame([in2Hours, in1Day, tomorrow], [now + 2 * HOUR, now + 24 * HOUR, now + 24 * HOUR])
    for (const at of ofDay.slice(0, 3)) t.match(new Date(at).toJSON(), /T02:30:00/)
  }
  for (const other of others) t.strictSame(other, inUtc)
})

t.test('a schedule must be within 30 days, with 2 s tolerance at both ends', async t => {
  const moments = fc.date({ min: new Date('2020-01-01'), max: new Date('2090-01-01'), noInvalidDate: true })
  const MONTH = 30 * 24 * HOUR
  fc.assert(
    fc.property(moments, fc.integer({ min: -3_000, max: 3_000 }), (now, ms) => {
      const read = (ahead: number) => readSchedule(new Date(now.getTime() + ahead).toJSON(), now)
      t.same(read(ms), {
        at: new Date(now.getTime() + ms),
        is_now: ms <= 0,
        fault: ms < -2_000 ? 'schedule_past' : null,
      })
      t.equal(read(MONTH + ms)?.fault, ms > 2_000 ? 'schedule_too_far' : null)
      for (const phrase of ['now', 'Now', ' now ']) {
        t.match(readSchedule(phrase, now), { is_now: true, fault: null }, phrase)
      }
      for (const phrase of ['in 30 days', 'in 720 hours', '30 days from now', 'in 1 second']) {
        t.match(readSchedule(phrase, now), { is_now: false, fault: null }, phrase)
      }
      t.match(readSchedule('in 31 days', now), { fault: 'schedule_too_far' })
    }),
  )
})

t.test('past times are parsed too', async t => {
  t.equal(parse('2 hours ago'), '2026-11-21T14:00:00.000Z')
  t.equal(parse('2020-01-01'), '2020-01-01T00:00:00.000Z')
})

t.test('text that is not a time, or has several, is refused', async t => {
  for (const text of [
    ...['', ' ', 'soon', 'never', '1234567890', '\0', 'blah tomorrow', 'tomorrow please', 'tomorrow 9am to 10am'],
    ...['2026-02-30T00:00:00Z', '2026-13-01', '2026-12-01T25:00Z', '2026-12-01T10:00+99:00', '2026-W48', '12:61'],
    ...['in 1e9 years', 'in 99999999999 hours', `in 2 hours${' '.repeat(200)}x`, 'in 2 hours, in 3 hours'],
  ]) {
    t.equal(parse(text), null, JSON.stringify(text))
  }
})
