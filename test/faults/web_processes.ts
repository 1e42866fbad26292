import { setTimeout as sleep } from 'node:timers/promises'
import type { Child } from '#test/faults/support/child.ts'
import { checkKeys, Load } from '#test/faults/support/load.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Cluster = { url: string; child: Child; pids(): number[] }

const FORKS = 2
const RESTART_MS = 20_000
const END_MS = 5_000
/** Pause of a caller between emails while a process is replaced, since that takes time to start. */
const PAUSE_MS = 20

const stops = {
  'SIGTERM to the first': child => child.kill('SIGTERM'),
  'SIGTERM to all, as systemd does': child => child.killGroup('SIGTERM'),
  'SIGINT to all, as Ctrl-C does': child => child.killGroup('SIGINT'),
} satisfies Record<string, (child: Child) => void>
type Stop = keyof typeof stops
const EVERY_STOP = Object.keys(stops) as Stop[]

/**
 * WEB_CONCURRENCY: every process serves, a killed one is replaced, and a stop of any of them ends all, after they have finished
 * requests in progress.
 */
export async function runWebProcesses(
  stage: Stage,
  { load_ms, ways = EVERY_STOP }: { load_ms: number; ways?: Stop[] },
): Promise<Report> {
  const report = new Report()
  let cluster: Cluster | null = await startWebProcesses(stage)
  await replaceKilled(stage, report, load_ms, cluster)
  for (const way of ways) {
    await stopAll(stage, report, way, load_ms, cluster ?? (await startWebProcesses(stage)))
    cluster = null
  }
  const last = await startWebProcesses(stage)
  await refuseTakenPort(stage, report, last)
  await endWithFirst(report, last)
  return report
}

export async function startWebProcesses(stage: Stage): Promise<Cluster> {
  const { url, child } = await stage.startWeb({ WEB_CONCURRENCY: String(FORKS) })
  const pids = () => child.lines.filter(line => line.includes('the API listens')).map(line => JSON.parse(line).pid)
  await waitUntil(() => pids().length >= FORKS, 'every process listens')
  return { url, child, pids }
}

async function replaceKilled(stage: Stage, report: Report, load_ms: number, cluster: Cluster): Promise<void> {
  const { url, child, pids } = cluster
  const load = new Load(stage, { pause_ms: PAUSE_MS })
  load.start([url], 16)
  const cpu = () => pids().map(pid => child.cpu(pid))
  const before = cpu()
  const used = () => cpu().map((seconds, n) => seconds - (before[n] as number))
  await sleep(load_ms)
  await waitUntil(() => Math.min(...used()) > 0, 'every process serves').catch(({ message }) =>
    report.expect(false, message),
  )
  report.note({ cpu_s_of_each: used().map(seconds => Number(seconds.toFixed(2))) })

  const killed_at = performance.now()
  process.kill(pids()[0] as number, 'SIGKILL')
  const replaced = waitUntil(() => pids().length > FORKS, 'a killed process is replaced', RESTART_MS)
  await replaced.catch(error => report.expect(false, error.message))
  report.note({ replaced_after_ms: Math.round(performance.now() - killed_at) })
  await load.stop()
  report.note({ answers_around_the_kill: load.tally })
  for (const fault of await checkKeys(stage, load)) report.expect(false, fault)
}

let numbers = 1_000_000 // different from those of other loads

/** Stops under load; afterwards no process is left, and nothing was stored without a response. */
async function stopAll(
  stage: Stage,
  report: Report,
  way: Stop,
  load_ms: number,
  { url, child, pids }: Cluster,
): Promise<void> {
  const load = new Load(stage)
  const unanswered: number[] = []
  const post = async () => {
    for (let status: unknown; status !== 'ECONNREFUSED'; ) {
      const n = numbers++
      status = (await load.post(url, n)).status
      if (status !== 200) unanswered.push(n)
    }
  }
  const posting = Promise.all(Array.from({ length: 16 }, post))
  await sleep(load_ms)
  stops[way](child)
  const exit = await child.ended
  await posting
  await load.stop()
  const { rows } = await stage.pool.pg.query('SELECT subject FROM emails WHERE subject = ANY($1)', [
    unanswered.map(n => `Number ${n}`),
  ])
  report.note({ [way]: { exit, answers: load.tally } })
  report.expect(exit.code === 0, `${way}: ended with ${JSON.stringify(exit)}: ${child.lines.slice(-3)}`)
  report.expect(rows.length === 0, `${way}: ${rows.length} emails were stored without a response`)
  report.expect(!pids().some(isAlive), `${way}: a process is left`)
}

/** If the first process is killed the others must end: nobody would supervise them, and their port would stay taken. */
async function endWithFirst(report: Report, { child, pids }: Cluster): Promise<void> {
  child.kill('SIGKILL')
  const ended = waitUntil(() => !pids().some(isAlive), 'no process outlives the first', END_MS)
  await ended.catch(error => report.expect(false, error.message))
}

async function refuseTakenPort(stage: Stage, report: Report, { url }: Cluster): Promise<void> {
  const { port } = new URL(url)
  for (const WEB_CONCURRENCY of ['1', String(FORKS)]) {
    const other = stage.start('workers/web.ts', { PORT: port, WEB_CONCURRENCY, LOG_LEVEL: 'warn' })
    const exit = await other.ended
    const isRight = exit.code === 1 && other.lines.length === 1 && /taken/.test(other.lines[0] as string)
    report.expect(isRight, `a taken port, ${WEB_CONCURRENCY} processes: ${exit.code}, ${JSON.stringify(other.lines)}`)
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** node test/faults/web_processes.ts [--load_ms 2000] */
if (import.meta.main) {
  const options = readOptions({ load_ms: 2_000 })
  await runCampaign('several web processes on one port', stage => runWebProcesses(stage, options))
}
