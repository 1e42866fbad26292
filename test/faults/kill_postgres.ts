import { setTimeout as sleep } from 'node:timers/promises'
import type { Child } from '#test/faults/support/child.ts'
import { countStates, makeAllDue, waitForNone } from '#test/faults/support/deliveries.ts'
import { checkKeys, Load } from '#test/faults/support/load.ts'
import type { Postgres } from '#test/faults/support/postgres.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type How = 'immediate stop' | 'kill -9 of all'

/** `hows` are used in turn. */
type Options = { crashes: number; emails: number; connections: number; hows: How[] }

const AWAY_MS = 500
const BACK_MS = 10_000

/** Enough for as many requests as one may ask for on the command line. */
const PATIENCE_MS = 300_000

/**
 * Postgres crashes again and again while emails are accepted and sent. What was acknowledged is stored, each request is stored
 * completely or not at all, and everything resumes by itself: the web process survives, and a worker that gives up is
 * restarted by its supervisor.
 */
export async function crashPostgres(stage: Stage, postgres: Postgres, options: Options): Promise<Report> {
  const { crashes, emails, connections, hows } = options
  const report = new Report()
  const sink = await stage.startSink()
  const web = await stage.startWeb({ LOG_LEVEL: 'info' })
  const worker = stage.supervise('test/faults/support/worker.ts', { MAIL_TRANSPORT: sink.url, LOG_LEVEL: 'fatal' })
  const load = new Load(stage)
  load.start([web.url], connections)
  const back: number[] = []
  for (let crash = 1; crash <= crashes; crash++) {
    await reaches(load, web, (emails * crash) / (crashes + 1))
    await (hows[crash % hows.length] === 'immediate stop' ? postgres.stop('SIGQUIT') : postgres.kill())
    await sleep(AWAY_MS)
    await postgres.start()
    const start = performance.now()
    const before = load.accepted.length
    await reaches(load, web, before + 1)
    back.push(Math.round(performance.now() - start))
  }
  await reaches(load, web, emails)
  await load.stop()
  const settled = await settle(stage)
  const exits = [...worker.exits]
  await Promise.all([worker.stop(), web.child.stop()])

  const { delivered, ever_in_doubt = 0 } = await countStates(stage)
  const duplicates = sink.ledger.duplicates()
  report.note({ crashes, hows, answered: load.ids.size, answers: load.tally, first_200_after_ms: back })
  report.note({
    delivered,
    duplicates,
    ever_in_doubt,
    settled_after_s: settled,
    worker_exits: exits.map(({ code }) => code),
  })
  report.expect(delivered === load.ids.size, `${delivered} of ${load.ids.size} were delivered`)
  report.expect(Math.max(...back) < BACK_MS, 'requests were not accepted soon after Postgres was back')
  report.expect(web.child.exit?.code === 0, `the web process did not survive: ${web.child.lines.slice(-3)}`)
  report.expect(!exits.some(({ code }) => code === 0), 'a worker that gave up exited with 0')
  for (const fault of await checkKeys(stage, load)) report.expect(false, fault)
  await report.consult(stage, { sent: sink.ledger.read(), answered: [...load.ids.values()].flatMap(ids => [...ids]) })
  return report
}

function reaches(load: Load, { child }: { child: Child }, count: number): Promise<unknown> {
  const { accepted, tally, refusals } = load
  return waitUntil(
    () => {
      if (child.exit) throw ended(child)
      return accepted.length >= count
    },
    () => `${accepted.length} of ${count} are accepted; the answers are ${JSON.stringify({ ...tally, ...refusals })}`,
    PATIENCE_MS,
  ).catch(error => {
    load.abandon()
    throw error
  })
}

function ended({ exit, lines }: Child): Error {
  return new Error(`the web process ended: ${JSON.stringify(exit)}\n${lines.slice(-20).join('\n')}`)
}

/** Makes deferred deliveries due, again and again until nothing is left. */
async function settle(stage: Stage): Promise<number> {
  const soon = setInterval(() => makeAllDue(stage).catch(() => {}), 2_000)
  return waitForNone(stage, ['queued', 'sending', 'in_doubt'], 120_000).finally(() => clearInterval(soon))
}

/** node test/faults/kill_postgres.ts [--crashes 20] [--emails 20000] [--connections 32] */
if (import.meta.main) {
  const options = readOptions({ crashes: 5, emails: 6_000, connections: 32 })
  for (const how of ['immediate stop', 'kill -9 of all'] as const) {
    await runCampaign(`${how} Postgres under load`, (stage, postgres) =>
      crashPostgres(stage, postgres, { ...options, hows: [how] }),
    )
  }
}
