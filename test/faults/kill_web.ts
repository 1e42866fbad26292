import pg from 'pg'
import { waitForNone } from '#test/faults/support/deliveries.ts'
import { checkKeys, Load } from '#test/faults/support/load.ts'
import { type PgProxy, startPgProxy } from '#test/faults/support/pg_proxy.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

/** When the process is killed: before Postgres gets the statement, while it executes it, or when it replies. */
const MOMENTS = ['before', 'during', 'after'] as const
type Moment = (typeof MOMENTS)[number]

/**
 * A web process is killed around the commit of a request. The caller got no response and retries with the same key at another
 * process; whatever became of the first attempt, there is one email and one id.
 */
export async function killWeb(stage: Stage, { runs }: { runs: number }): Promise<Report> {
  const report = new Report()
  const other = await stage.startWeb({ LOG_LEVEL: 'info' })
  const load = new Load(stage)
  const counts = { replayed: 0, answered_before_the_kill: 0 }
  let longest = 0
  for (let n = 0; n < runs * MOMENTS.length; n++) {
    const moment = MOMENTS[n % MOMENTS.length] as Moment
    const stored = await killAround(stage, load, moment, n)
    counts.answered_before_the_kill += load.ids.has(n) ? 1 : 0
    const start = performance.now()
    const answers = await load.send([other.url], n)
    longest = Math.max(longest, performance.now() - start)
    if (stored && load.ids.get(n)?.has(stored)) counts.replayed++
    report.expect(moment !== 'after' || stored !== null, `run ${n}: the first try was not committed`)
    report.expect(moment !== 'before' || stored === null, `run ${n}: the first try was committed`)
    report.expect(
      answers.length <= 3,
      `run ${n}: the retries got the responses ${answers.map(answer => answer.status)}`,
    )
  }
  await load.stop()
  // The emails must be sent too: without a worker they would wait, which the oracle reports as a fault.
  const worker = stage.supervise('test/faults/support/worker.ts', { LOG_LEVEL: 'error' })
  await waitForNone(stage, ['queued', 'sending'])
  await worker.stop()
  report.note({ kills: runs * MOMENTS.length, keys: load.ids.size, ...counts, longest_retry_ms: Math.round(longest) })
  report.note({ answers: load.tally })
  for (const fault of await checkKeys(stage, load)) report.expect(false, fault)
  await report.consult(stage, { answered: [...load.ids.values()].flatMap(ids => [...ids]) })
  return report
}

/** Returns the id of the stored email once the process is dead and Postgres has finished, or null. */
async function killAround(stage: Stage, load: Load, moment: Moment, n: number): Promise<string | null> {
  const proxy = await startPgProxy(stage.url)
  const web = await stage.startWeb({ DATABASE_URL: proxy.url, LOG_LEVEL: 'info' })
  const kill = () => web.child.kill('SIGKILL')
  if (moment === 'during') await killWhileLocked(stage, kill, () => load.post(web.url, n))
  else await Promise.all([killAtCut(proxy, moment, kill), load.post(web.url, n)])
  await web.child.ended
  await proxy.close()
  const { rows } = await stage.pool.pg.query('SELECT id FROM emails WHERE subject = $1', [`Number ${n}`])
  return rows[0]?.id ?? null
}

/** Loses the statement or its reply, and the query whether it was stored. */
async function killAtCut(proxy: PgProxy, moment: 'before' | 'after', kill: () => void): Promise<void> {
  await (moment === 'before' ? proxy.cutRequest('accept_emails') : proxy.cutReply('accept_emails'))
  proxy.blackhole(true)
  kill()
}

/** Makes the statement wait for a lock; Postgres finishes it although the client is gone. */
async function killWhileLocked(stage: Stage, kill: () => void, post: () => Promise<unknown>): Promise<void> {
  const holder = new pg.Client({ connectionString: stage.url })
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query('LOCK TABLE idempotency_keys IN SHARE MODE')
  const posted = post()
  await waitUntil(() => isWaiting(stage), 'the statement waits for the lock')
  kill()
  await holder.query('COMMIT')
  await holder.end()
  await posted
  await waitUntil(async () => !(await isAccepting(stage)), 'the statement has ended')
}

async function isWaiting(stage: Stage): Promise<boolean> {
  return find(stage, `wait_event_type = 'Lock'`)
}

async function isAccepting(stage: Stage): Promise<boolean> {
  return find(stage, `state = 'active'`)
}

async function find(stage: Stage, condition: string): Promise<boolean> {
  const { rowCount } = await stage.pool.pg.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND query LIKE '%accept_emails(%' AND ${condition}`,
  )
  return rowCount !== 0
}

/** node test/faults/kill_web.ts [--runs 50]: each at three moments. */
if (import.meta.main) {
  const options = readOptions({ runs: 15 })
  await runCampaign('kill -9 of a web process around a commit', stage => killWeb(stage, options))
}
