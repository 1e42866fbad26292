import { type EmailMetricsGranularity, Resend } from 'resend'
import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { countMetrics } from '#test/support/metrics.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const api = await startApi(t, world, (await newAccount(world)).key)

const MINUTE = 60_000
const QUARTER = 15 * MINUTE
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

type Asked = { timezone: string; granularity: EmailMetricsGranularity; startDate: string; endDate: string }

/** Returns how many emails were sent in each period. */
async function ask({ key }: TestAccount, asked: Asked): Promise<Record<string, number>> {
  const { emails } = new Resend(key, { baseUrl: `${api.url}/api` })
  const { data, error } = await emails.metrics({ ...asked, metrics: ['sent'], dimensions: ['period'] })
  if (!data) throw new Error(error?.message)
  return Object.fromEntries((data.data ?? []).map(({ period = '', sent = 0 }) => [period, sent]))
}

/** Creates an account that has sent an email in every quarter of an hour of a range. */
async function makeSteady(start: Date, end: Date): Promise<TestAccount> {
  const account = await newAccount(world)
  const times = Array.from(
    { length: (end.getTime() - start.getTime()) / QUARTER },
    (_, n) => start.getTime() + n * QUARTER,
  )
  await countMetrics(
    world,
    account,
    times.map(time => ({ name: 'sent', at: new Date(time + 7 * MINUTE) })),
  )
  return account
}

/** The newest day on which the clocks of the European Union were changed: the last Sunday of March or October. */
function lastChange(month: 2 | 9): Date {
  const year = new Date().getUTCFullYear()
  const changes = [year, year - 1].map(year => {
    const last = new Date(Date.UTC(year, month + 1, 0))
    return new Date(last.getTime() - last.getUTCDay() * DAY)
  })
  return changes.find(change => change.getTime() + 2 * DAY < Date.now()) as Date
}

const dayOf = (time: Date, days = 0) => new Date(time.getTime() + days * DAY).toISOString().slice(0, 10)

for (const { name, month, quarters } of [
  { name: '25 hours in autumn', month: 9 as const, quarters: 100 },
  { name: '23 hours in spring', month: 2 as const, quarters: 92 },
]) {
  t.test(`a day with a clock change has ${name}`, async t => {
    const change = lastChange(month)
    const account = await makeSteady(new Date(change.getTime() - 2 * DAY), new Date(change.getTime() + 2 * DAY))
    const timezone = 'Europe/Berlin'
    const [startDate, endDate] = [dayOf(change, -1), dayOf(change, 2)]
    t.strictSame(await ask(account, { timezone, granularity: 'daily', startDate, endDate }), {
      [dayOf(change, -1)]: 96,
      [dayOf(change)]: quarters,
      [dayOf(change, 1)]: 96,
    })
    const hours = await ask(account, {
      timezone,
      granularity: 'hourly',
      startDate: dayOf(change),
      endDate: dayOf(change, 1),
    })
    t.equal(Object.keys(hours).length, quarters / 4)
    t.ok(Object.values(hours).every(sent => sent === 4))
    const nights = Object.keys(hours)
      .slice(1, 4)
      .map(hour => hour.slice(11))
    const [summer, winter] = ['+02:00', '+01:00']
    t.strictSame(
      nights,
      month === 9
        ? [`01:00:00${summer}`, `02:00:00${summer}`, `02:00:00${winter}`]
        : [`01:00:00${winter}`, `03:00:00${summer}`, `04:00:00${summer}`],
    )
  })
}

t.test('days and hours begin correctly in time zones with half and quarter hours', async t => {
  const midnight = new Date(new Date().setUTCHours(0, 0, 0, 0) - 3 * DAY)
  const account = await makeSteady(new Date(midnight.getTime() - DAY), new Date(midnight.getTime() + DAY))
  const [startDate, endDate] = [midnight.toISOString(), new Date(midnight.getTime() + DAY).toISOString()]
  const [today, tomorrow] = [dayOf(midnight), dayOf(midnight, 1)]
  const sentBy = async (timezone: string) => ask(account, { timezone, granularity: 'daily', startDate, endDate })
  t.strictSame(await sentBy('Asia/Kathmandu'), { [today]: 73, [tomorrow]: 23 })
  t.strictSame(await sentBy('Asia/Kolkata'), { [today]: 74, [tomorrow]: 22 })
  t.strictSame(await sentBy('America/Argentina/Buenos_Aires'), { [dayOf(midnight, -1)]: 12, [today]: 84 })
  const hours = await ask(account, { timezone: 'Asia/Kathmandu', granularity: 'hourly', startDate, endDate })
  t.strictSame(Object.entries(hours).slice(0, 2), [
    [`${today}T05:00:00+05:45`, 1],
    [`${today}T06:00:00+05:45`, 4],
  ])
  t.strictSame(
    Object.keys(
      await ask(account, { timezone: 'America/New_York', granularity: 'hourly', startDate, endDate: startDate }),
    ),
    [],
  )
})

t.test('a date means its midnight in the timezone', async t => {
  const midnight = new Date(new Date().setUTCHours(0, 0, 0, 0) - 3 * DAY)
  const account = await makeSteady(new Date(midnight.getTime() - DAY), new Date(midnight.getTime() + 2 * DAY))
  const [startDate, endDate] = [dayOf(midnight), dayOf(midnight, 1)]
  for (const timezone of ['UTC', 'Asia/Kathmandu', 'Pacific/Kiritimati']) {
    t.strictSame(
      await ask(account, { timezone, granularity: 'daily', startDate, endDate }),
      { [startDate]: 96 },
      timezone,
    )
  }
})

t.test('weeks begin on Monday, and empty periods are returned as 0', async t => {
  const account = await newAccount(world)
  // A Wednesday, so that the range begins in the middle of a week.
  const wednesday = new Date(new Date().setUTCHours(12, 0, 0, 0) - 40 * DAY)
  wednesday.setUTCDate(wednesday.getUTCDate() - ((wednesday.getUTCDay() + 4) % 7))
  await countMetrics(world, account, [{ name: 'sent', at: wednesday, by: 3 }])
  const [startDate, endDate] = [wednesday.toISOString(), new Date(wednesday.getTime() + 15 * DAY).toISOString()]
  const weeks = await ask(account, { timezone: 'UTC', granularity: 'weekly', startDate, endDate })
  t.strictSame(weeks, { [dayOf(wednesday, -2)]: 3, [dayOf(wednesday, 5)]: 0, [dayOf(wednesday, 12)]: 0 })
  const months = await ask(account, {
    timezone: 'UTC',
    granularity: 'monthly',
    startDate,
    endDate: startDate.replace('12:', '13:'),
  })
  t.strictSame(months, { [`${startDate.slice(0, 8)}01`]: 3 })
})

t.test('a range is limited to the 400 days that are kept', async t => {
  const account = await newAccount(world)
  await countMetrics(world, account, [
    { name: 'sent', at: new Date(Date.now() - 402 * DAY) },
    { name: 'sent', at: new Date() },
  ])
  const { emails } = new Resend(account.key, { baseUrl: `${api.url}/api` })
  const { data } = await emails.metrics({ startDate: '2023-01-01', endDate: '9999-12-31', metrics: ['sent'] })
  t.strictSame(data?.totals, { sent: 1 })
  const days = (Date.parse(data?.end_date ?? '') - Date.parse(data?.start_date ?? '')) / DAY
  t.equal(days, 400)

  const message = '`end_date` must be in the last 400 days: older figures are not kept.'
  for (const edges of [{ startDate: '2020-01-01', endDate: '2020-02-01' }, { endDate: '2020-02-01' }]) {
    shows(t, (await emails.metrics(edges)).error, { statusCode: 422, message })
  }
  const early = { startDate: new Date(Date.now() + DAY).toISOString() }
  shows(t, (await emails.metrics(early)).error, { message: '`start_date` must not be after `end_date`.' })
})
