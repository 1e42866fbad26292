import { setTimeout as sleep } from 'node:timers/promises'
import { countStates, makeAllDue, waitForNone } from '#test/faults/support/deliveries.ts'
import { checkKeys, Load } from '#test/faults/support/load.ts'
import { composeMixed } from '#test/faults/support/mixed_posts.ts'
import type { Postgres } from '#test/faults/support/postgres.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'
import { SmallDisk } from './small_disk.ts'

type Options = { fills: number; seconds: number; connections: number }

const BACK_MS = 20_000
const RESTART_MS = 500

/**
 * The disk of Postgres fills up again and again while emails, files and batches are accepted and sent. Callers get a 503,
 * nothing is acknowledged with 200 that is not stored, and with space everything resumes: Postgres, which ends when it cannot
 * write its log, and a worker that gives up are restarted like by an init system.
 */
export async function fillDisk(stage: Stage, postgres: Postgres, disk: SmallDisk, options: Options): Promise<Report> {
  const { fills, seconds, connections } = options
  const report = new Report()
  const sink = await stage.startSink()
  const web = await stage.startWeb({ LOG_LEVEL: 'info' })
  const worker = stage.supervise('test/faults/support/worker.ts', { MAIL_TRANSPORT: sink.url, LOG_LEVEL: 'fatal' })
  const watch = keepRunning(postgres)
  const load = new Load(stage, { connections, compose: n => composeMixed(stage, n) })
  load.start([web.url], connections)
  const { served_when_full, back } = await fillAgain({ stage, postgres, disk, load }, { fills, seconds }).finally(() =>
    load.stop(),
  )
  const soon = setInterval(() => makeAllDue(stage).catch(() => {}), 2_000)
  const settled_after_s = await waitForNone(stage, ['queued', 'sending', 'in_doubt'], 120_000).finally(() =>
    clearInterval(soon),
  )
  const restarts = await watch.stop()
  const exits = [...worker.exits]
  await Promise.all([worker.stop(), web.child.stop()])

  const { delivered, ever_in_doubt = 0 } = await countStates(stage)
  const worker_exits = exits.map(({ code }) => code)
  report.note({ fills, seconds_full: seconds, answers: load.tally, refusals: load.refusals })
  report.note({ served_when_full, first_200_after_ms: back, restarts_of_postgres: restarts, worker_exits })
  const duplicates = sink.ledger.duplicates()
  report.note({ emails: load.ids.size, delivered, duplicates, ever_in_doubt, settled_after_s })
  report.expect(delivered === (await countEmails(stage)), `only ${delivered} of the stored emails are delivered`)
  report.expect(restarts > 0, 'Postgres never ran out of space for its log')
  report.expect(Math.max(...back) < BACK_MS, 'requests were not accepted soon after there was space')
  report.expect(web.child.exit?.code === 0, `the web process did not survive: ${web.child.lines.slice(-3)}`)
  report.expect(!worker_exits.includes(0), 'a worker that gave up exited with 0')
  const strange = Object.keys({ ...load.tally, ...load.refusals }).filter(name => !KNOWN.test(name))
  report.expect(strange.length === 0, `unexpected responses: ${strange}`)
  for (const fault of await checkKeys(stage, load)) report.expect(false, fault)
  await report.consult(stage, { sent: sink.ledger.read(), answered: [...load.ids.values()].flatMap(ids => [...ids]) })
  return report
}

type Parts = { stage: Stage; postgres: Postgres; disk: SmallDisk; load: Load }

async function fillAgain({ stage, postgres, disk, load }: Parts, options: Pick<Options, 'fills' | 'seconds'>) {
  const served_when_full: number[] = []
  const back: number[] = []
  for (let fill = 0; fill < options.fills; fill++) {
    await load.accepts(100)
    disk.fill()
    if (fill % 2 === 0) await endLog(stage, postgres)
    const before = load.accepted.length
    await sleep(options.seconds * 1_000)
    served_when_full.push(load.accepted.length - before)
    disk.free()
    const start = performance.now()
    await load.accepts(1)
    back.push(Math.round(performance.now() - start))
  }
  await load.accepts(100)
  return { served_when_full, back }
}

/** A batch may be partly stored, and one whose caller was cut off may still be in progress. */
const KNOWN =
  /^(\d+|503 (sending_service_unavailable|batch_incomplete), retry-after \d+|409 concurrent_idempotent_requests, .*)$/

/** Postgres uses up the space reserved for its log, which ends it. A failed statement alone does not show that: it may have got no connection. */
async function endLog({ pool }: Stage, postgres: Postgres): Promise<void> {
  let hasEnded = false
  const ended = postgres.ended.then(() => {
    hasEnded = true
  })
  const write = async () => {
    const written = pool.pg.query(`SELECT pg_logical_emit_message(true, 'test', ''), pg_switch_wal()`)
    await Promise.race([ended, written.catch(() => {})])
    return hasEnded
  }
  await waitUntil(write, 'Postgres has no space for its log')
}

async function countEmails({ pool }: Stage): Promise<number> {
  const { rows } = await pool.pg.query('SELECT count(*)::int AS count FROM emails')
  return rows[0].count
}

/** Restarts Postgres like an init system. Returns how often it had to be started, and leaves it running. */
function keepRunning(postgres: Postgres): { stop(): Promise<number> } {
  let restarts = 0
  let isStopping = false
  const keep = async () => {
    while (!isStopping) {
      await Promise.race([postgres.ended, sleep(RESTART_MS)])
      if (postgres.isRunning) continue
      restarts++
      await postgres.start().catch(() => sleep(RESTART_MS)) // the disk is still full
    }
  }
  const kept = keep()
  return {
    async stop() {
      isStopping = true
      await kept
      return restarts
    },
  }
}

/** Null if mounting is not allowed: it requires root, and a capability in containers. */
export function openSmallDisk(): SmallDisk | null {
  try {
    return new SmallDisk(MEGABYTES)
  } catch {
    return null
  }
}

const MEGABYTES = 400

/** Little preallocated log, so that a full disk is noticed soon. */
export const DISK_SETTINGS = { min_wal_size: '32MB', max_wal_size: '64MB' }

/** node test/faults/disk_full.ts [--fills 6] [--seconds 10] [--connections 16] */
if (import.meta.main) {
  const options = readOptions({ fills: 6, seconds: 10, connections: 16 })
  const disk = openSmallDisk()
  if (!disk) console.log('SKIPPED: mounting is not allowed here')
  else {
    const run = (stage: Stage, postgres: Postgres) => fillDisk(stage, postgres, disk, options)
    await runCampaign('the disk of Postgres is full', run, DISK_SETTINGS, disk.directory).finally(disk.close)
  }
}
