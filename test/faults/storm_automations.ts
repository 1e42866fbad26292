import { setTimeout as sleep } from 'node:timers/promises'
import { startAutomations } from '#test/faults/support/automation_processes.ts'
import { enterLoop, type Loop, makeLoops, makePinged, type Pings, ping } from '#test/faults/support/automation_storm.ts'
import { Bystanders, type Lateness } from '#test/faults/support/bystanders.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { seconds: number; events_per_second: number; loops_per_second: number }

/** Runs per contact, automation and day, and how deep automations may start each other. */
const DAILY_RUNS = 10
const DEPTHS = 5
const PATIENCE_MS = 120_000

/**
 * Automations start each other by their emails endlessly, and one contact sends a thousand events per second. Both end by the
 * depth limit of events and the limit per contact, and what was not started is counted. `lateness` is that of other contacts
 * before the storm and during it.
 */
export async function stormAutomations(
  stage: Stage,
  { seconds, events_per_second, loops_per_second }: Options,
): Promise<{ report: Report; lateness: { calm: Lateness; storm: Lateness } }> {
  const report = new Report()
  const { url, workers } = await startAutomations(stage)
  const loops = await makeLoops(stage)
  const pinged = await makePinged(stage)
  const bystanders = await Bystanders.create(stage, url)
  await bystanders.watch(2) // warms up code and caches

  const calm = await bystanders.watch(seconds)
  const [storm, pings] = await Promise.all([
    bystanders.watch(seconds),
    ping(stage, url, events_per_second, seconds + 2),
    feedLoops(stage, url, loops, { seconds, loops_per_second }),
  ])
  report.note({ seconds_of_each: seconds, pings, calm, storm })
  await judgePings(stage, pinged, pings, report)
  for (const loop of loops) await judgeLoop(stage, loop, seconds * loops_per_second, report)
  await Promise.all(workers.map(worker => worker.stop()))
  await report.consult(stage)
  return { report, lateness: { calm, storm } }
}

async function feedLoops(
  stage: Stage,
  url: string,
  loops: Loop[],
  { seconds, loops_per_second }: Pick<Options, 'seconds' | 'loops_per_second'>,
): Promise<void> {
  for (let n = 0; n < seconds; n++) {
    await Promise.all([sleep(1_000), ...loops.map(loop => enterLoop(stage, url, loop, loops_per_second))])
  }
}

/** The contact has started as many runs as allowed, and every other event is counted. */
async function judgePings({ pool }: Stage, id: string, { sent, enrolled }: Pings, report: Report): Promise<void> {
  const { rows } = await pool.pg.query(
    `SELECT limited::int, (SELECT count(*) FROM automation_runs WHERE automation_id = a.id)::int AS runs,
       (SELECT count(*) FROM contact_events WHERE account_id = a.account_id AND name = 'page.viewed')::int AS events
     FROM automations a WHERE id = $1`,
    [id],
  )
  const expected = { limited: sent - DAILY_RUNS, runs: DAILY_RUNS, events: sent }
  report.expect(
    JSON.stringify(rows[0]) === JSON.stringify(expected),
    `the rows of events are ${JSON.stringify(rows[0])}`,
  )
  report.expect(enrolled === DAILY_RUNS, `${enrolled} events started a run`)
}

/** Each contact has got as many emails as the depth allows, and each end of a loop is counted. */
async function judgeLoop({ pool }: Stage, { account, event }: Loop, contacts: number, report: Report): Promise<void> {
  const { pg } = pool
  const left = async () => {
    const { rows } = await pg.query(
      `SELECT (SELECT count(*) FROM automation_runs WHERE account_id = $1 AND status = 'running')::int AS runs,
         (SELECT count(*) FROM deliveries WHERE account_id = $1 AND state IN ('queued', 'sending'))::int AS mail,
         (SELECT greatest(0, 2 * $2 - sum(limited)) FROM automations WHERE account_id = $1)::int AS ends`,
      [account.id, contacts],
    )
    return rows[0]
  }
  const isOver = async () => same(await left(), { runs: 0, mail: 0, ends: 0 })
  const what = async () => `the loop of ${event} is over: ${JSON.stringify(await left())} are left`
  await waitUntil(isOver, what, PATIENCE_MS)
  const { rows } = await pg.query(
    `SELECT count(*)::int AS contacts, min(emails)::int AS fewest, max(emails)::int AS most, max(deepest)::int AS deepest,
       (SELECT sum(limited) FROM automations WHERE account_id = $1)::int AS limited
     FROM (
       SELECT r.contact_id, count(s.output ->> 'email_id') AS emails, max(r.depth) AS deepest FROM automation_runs r
       JOIN automation_run_steps s ON s.account_id = r.account_id AND s.run_id = r.id
       WHERE r.account_id = $1 GROUP BY r.contact_id
     ) c`,
    [account.id],
  )
  report.note({ [`loop of ${event}`]: rows[0] })
  const emails = 2 * DEPTHS
  const expected = { contacts, fewest: emails, most: emails, deepest: DEPTHS - 1, limited: 2 * contacts }
  report.expect(same(rows[0], expected), `the loop of ${event} ended with ${JSON.stringify(rows[0])}`)
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Other contacts may wait at most this many times as long. */
const FACTOR = 2

/** node test/faults/storm_automations.ts [--seconds 30] [--events_per_second 1000] [--loops_per_second 4] */
if (import.meta.main) {
  const options = readOptions({ seconds: 30, events_per_second: 1_000, loops_per_second: 4 })
  await runCampaign('automations that start each other, and one contact with a storm of events', async stage => {
    const { report, lateness } = await stormAutomations(stage, options)
    for (const who of ['neighbours_p95_ms', 'others_p95_ms'] as const) {
      const [calm, storm] = [lateness.calm[who], lateness.storm[who]]
      report.expect(storm < FACTOR * calm, `${who} is ${storm} during the storm and ${calm} before`)
    }
    return report
  })
}
