import { setTimeout as sleep } from 'node:timers/promises'
import { countStates } from '#test/faults/support/deliveries.ts'
import { ask, post, readClock, startWeb, startWorker, type Web } from '#test/faults/support/shifted_processes.ts'
import { type Sink, startSink } from '#test/faults/support/sink.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { FAULT_TIMES } from '#test/faults/support/worker.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, runCampaign } from './campaign.ts'

const SECOND = 1_000
const HOUR = 3_600 * SECOND
const DAY = 24 * HOUR
const EVERY_SHIFT = [-DAY, -HOUR, HOUR, DAY]

/** How far the clocks of these processes are ahead of the database, in ms. */
type Options = { webs: number[]; workers: number[]; emails: number }

type Scheduled = { rcpt: string; at: number }

/** The allowed lateness. */
const LATE_MS = 60 * SECOND

/** The time of a request on a slow machine: much less than the shift of the clocks. */
const ASKING_MS = 10 * SECOND

/** Longer than a lease: the worker sends it once only if its heartbeats extend the lease. */
const SLOW_MS = FAULT_TIMES.lease_seconds * SECOND + 1_500

/**
 * Processes with wrong clocks run side by side. The clock of the database decides what is due, what has expired, whose lease
 * holds, and what phrases and searches mean.
 */
export async function shiftClocks(stage: Stage, { webs: shifts, workers, emails }: Options): Promise<Report> {
  const report = new Report()
  const sink = await startSink()
  try {
    const starting = Promise.all(workers.map(shift => startWorker(stage, sink, shift)))
    const webs = await Promise.all(shifts.map(shift => startWeb(stage, shift)))
    await starting
    const since = await readClock(stage)
    for (const { url, shift } of webs) await post(stage, url, { to: `slow250-${SLOW_MS}-${shift}@slow.sink.internal` })
    const scheduled = (await Promise.all(webs.map(web => schedule(stage, report, web)))).flat()
    await replay(stage, report, webs)
    const sent = await sendInTurn(stage, webs, emails)
    await checkArrivals(stage, report, sink, scheduled)
    const isIndexed = async () => (await stage.pool.pg.query('SELECT FROM email_blocks')).rowCount
    await waitUntil(isIndexed, 'emails are indexed')
    for (const web of webs) await find(stage, report, web, sent, since)
    const { delivered = 0, ever_in_doubt = 0 } = await countStates(stage)
    report.note({ shifts, workers, delivered, ever_in_doubt })
    report.expect(
      delivered === sink.messages && ever_in_doubt === 0,
      `${delivered} delivered, but ${sink.messages} sent`,
    )
    await report.consult(stage, { sent: sink.ledger })
  } finally {
    await sink.close()
  }
  return report
}

/** Schedules emails by timestamps and phrases, near and far. Returns what is to arrive, and when. */
async function schedule(stage: Stage, report: Report, { url, shift }: Web): Promise<Scheduled[]> {
  const near: Scheduled[] = []
  const means = async (phrase: string, to: string, ms: number) => {
    const before = await readClock(stage)
    const { status, body } = await post(stage, url, { to, scheduled_at: phrase })
    const after = await readClock(stage)
    const found = await ask(stage, url, `/emails/${body.id}`)
    const at = Date.parse(found.body.scheduled_at)
    const isRight = status === 200 && at >= before + ms - ASKING_MS && at <= after + ms + ASKING_MS
    report.expect(isRight, `"${phrase}" on a clock ${shift} ms ahead is ${found.body.scheduled_at}`)
    return { at, id: body.id }
  }
  const phrase = { rcpt: `phrase${shift}@a.sink.internal`, at: 0 }
  phrase.at = (await means('in 3 seconds', phrase.rcpt, 3 * SECOND)).at
  const { id } = await means('in 2 hours', 'far@a.sink.internal', 2 * HOUR)
  const moved = await ask(stage, url, `/emails/${id}`, { method: 'PATCH', body: '{"scheduled_at":"in 3 hours"}' })
  const off = Date.parse(moved.body.scheduled_at) - (await readClock(stage)) - 3 * HOUR
  report.expect(Math.abs(off) < ASKING_MS, `"in 3 hours" is off by ${off} ms on a clock ${shift} ms ahead`)

  const time = await readClock(stage)
  const timestamp = { rcpt: `timestamp${shift}@a.sink.internal`, at: time + 2 * SECOND }
  near.push(phrase, timestamp)
  for (const [to, at, status] of [
    [timestamp.rcpt, timestamp.at, 200],
    ['far@a.sink.internal', time + 30 * DAY - SECOND, 200],
    ['far@a.sink.internal', time + 30 * DAY + 60 * SECOND, 422],
    ['far@a.sink.internal', time - 60 * SECOND, 422],
  ] as const) {
    const answer = await post(stage, url, { to, scheduled_at: new Date(at).toJSON() })
    report.expect(answer.status === status, `${at - time} ms ahead: ${answer.status} on a clock ${shift} ms ahead`)
  }
  return near
}

/** A key is valid for 24 hours, whichever process created it and whichever is asked. */
async function replay(stage: Stage, report: Report, webs: Web[]): Promise<void> {
  const send = async ({ url }: Web) =>
    (await post(stage, url, { to: 'ok-key@a.sink.internal' }, { 'idempotency-key': 'clocks' })).body.id
  const grow = (age: string) =>
    stage.pool.pg.query(`UPDATE idempotency_keys SET created_at = now() - interval '${age}' WHERE key = 'clocks'`)
  const first = await send(webs[0] as Web)
  for (const web of webs) {
    await grow('23 hours 59 minutes')
    report.expect((await send(web)) === first, `an idempotency key expired too soon on a clock ${web.shift} ms ahead`)
  }
  for (const web of webs) {
    await grow('24 hours 1 second')
    report.expect((await send(web)) !== first, `an idempotency key did not expire on a clock ${web.shift} ms ahead`)
  }
}

/** Sends emails one after the other, each through the next process. */
async function sendInTurn(stage: Stage, webs: Web[], count: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const { url } = webs[n % webs.length] as Web
    const fields = { to: `ok-${n}@a.sink.internal`, subject: 'In turn' }
    ids.push((await post(stage, url, fields)).body.id)
    await sleep(30) // measured clocks agree to a few ms
  }
  return ids
}

async function checkArrivals(stage: Stage, report: Report, sink: Sink, scheduled: Scheduled[]): Promise<void> {
  const waiting = `SELECT FROM deliveries WHERE state = 'sending' OR next_at < now() + interval '1 hour'`
  const isSent = async () => (await stage.pool.pg.query(waiting)).rowCount === 0
  await waitUntil(isSent, 'every due email is sent', LATE_MS).catch(error => report.expect(false, error.message))
  const arrivals = scheduled.map(({ rcpt }) => sink.ledger.find(entry => entry.rcpt === rcpt)?.time ?? Number.NaN)
  const lateness = arrivals.map((time, i) => time - (scheduled[i] as Scheduled).at)
  report.note({ lateness_ms: lateness })
  for (const [i, late] of lateness.entries()) {
    report.expect(late >= 0 && late < LATE_MS, `${scheduled[i]?.rcpt} came ${late} ms after its time`)
  }
  const slow = sink.ledger.filter(({ rcpt }) => rcpt.startsWith('slow'))
  report.expect(
    slow.length === new Set(slow.map(({ rcpt }) => rcpt)).size,
    'a lease expired although its worker was alive',
  )
}

/** The list, a search and the request log show everything, approximately in the order of sending. */
async function find(stage: Stage, report: Report, { url, shift }: Web, sent: string[], since: number): Promise<void> {
  const from = new Date(since - SECOND).toJSON()
  const till = new Date((await readClock(stage)) + SECOND).toJSON()
  const between = `limit=100&created_after=${from}&created_before=${till}`
  for (const query of [`q=in+turn&${between}`, `from=ann@${stage.account.domain}&q=in+turn&${between}`, 'limit=100']) {
    const { body } = await ask(stage, url, `/emails?${query}`)
    const found = body.data.map(({ id }) => id).filter(id => sent.includes(id))
    const astray = found.reverse().filter((id, place) => Math.abs(sent.indexOf(id) - place) > sent.length / 4)
    const isWhole = found.length === sent.length && astray.length === 0
    report.expect(
      isWhole,
      `${query} shows ${found.length}, ${astray.length} out of order, on a clock ${shift} ms ahead`,
    )
  }
  const { body } = await ask(stage, url, `/logs?${between}&method=PATCH`)
  report.expect(body.data.length > 0, `the request log has wrong times on a clock ${shift} ms ahead`)
}

/** node test/faults/shift_clocks.ts */
if (import.meta.main) {
  await runCampaign('processes with wrong clocks', stage =>
    shiftClocks(stage, { webs: EVERY_SHIFT, workers: EVERY_SHIFT, emails: 100 }),
  )
}
