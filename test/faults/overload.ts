import { setTimeout as sleep } from 'node:timers/promises'
import { countStates, waitForNone } from '#test/faults/support/deliveries.ts'
import { checkKeys, email, Load } from '#test/faults/support/load.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'
import { askLoopDelay, TELLS_LOOP_DELAY } from './event_loop.ts'

/**
 * `statement_ms`: additional time of a commit, as on a slow disk. `bytes`: of a text. `delay_ms`: the limit for delays of the
 * event loop, which other load on the machine increases too.
 */
type Options = { connections: number; seconds: number; statement_ms: number; bytes: number; delay_ms: number }

const TIMES_CAPACITY = 3
/** Two full commits: one in progress, one waiting. */
const CAPACITY_CONNECTIONS = 100
const MEGABYTE = 1 << 20
const MOST_MEMORY = 512 * MEGABYTE
const MOST_WAIT = 15_000 // ms, half of the usual timeout of callers

/**
 * There are many more callers than one web process can serve. It is slow or refuses with a `retry-after`; it neither grows nor
 * stalls, and what it has acknowledged with 200 is sent.
 */
export async function overload(stage: Stage, options: Options): Promise<Report> {
  const { connections, seconds, statement_ms, bytes, delay_ms } = options
  const report = new Report()
  const sink = await stage.startSink()
  const web = await stage.startWeb({ LOG_LEVEL: 'info', ...TELLS_LOOP_DELAY })
  const worker = stage.supervise('test/faults/support/worker.ts', { MAIL_TRANSPORT: sink.url, LOG_LEVEL: 'fatal' })
  if (statement_ms > 0) await slowDown(stage, statement_ms)
  const text = 'x'.repeat(bytes)
  const load = new Load(stage, {
    connections,
    compose: n => ({ path: '/api/emails', body: { ...email(stage, n), text } }),
  })
  const post = new Caller(load, web.url)

  const capacity = await post.run(CAPACITY_CONNECTIONS, seconds / 10)
  await askLoopDelay(web.child)
  const under = await post.run(connections, seconds, (1_000 * connections) / (TIMES_CAPACITY * capacity.served_per_s))
  const delay = await askLoopDelay(web.child)
  const again = await post.run(CAPACITY_CONNECTIONS, seconds / 10)
  const peak = web.child.memory('VmHWM')
  await load.stop()
  if (statement_ms > 0) await stage.pool.pg.query('DROP FUNCTION dawdle CASCADE')
  const settled_after_s = await waitForNone(stage, ['queued', 'sending'], 600_000)
  await Promise.all([worker.stop(), web.child.stop()])

  const { delivered } = await countStates(stage)
  report.note({ connections, statement_ms, bytes, capacity, under_overload: under, afterwards: again })
  report.note({ refusals: load.refusals, peak_mb: Math.round(peak / MEGABYTE), event_loop_delay_ms: delay })
  report.note({ answered_with_200: load.ids.size, delivered, settled_after_s })
  report.expect(web.child.exit?.code === 0, `the web process did not survive: ${web.child.lines.slice(-3)}`)
  report.expect(peak < MOST_MEMORY, `${peak} bytes of memory`)
  report.expect(delay.p99 < delay_ms, `the event loop was delayed: ${JSON.stringify(delay)}`)
  report.expect(under.longest_ms < MOST_WAIT, `a response took ${under.longest_ms} ms`)
  report.expect(again.refused === 0 && again.served_per_s > capacity.served_per_s / 3, 'afterwards it was still slow')
  const strange = Object.keys({ ...load.tally, ...load.refusals }).filter(name => !KNOWN.test(name))
  report.expect(strange.length === 0, `unexpected responses: ${strange}`)
  report.expect(delivered === load.ids.size, `${delivered} of ${load.ids.size} were delivered`)
  for (const fault of await checkKeys(stage, load)) report.expect(false, fault)
  await report.consult(stage, { sent: sink.ledger.read(), answered: [...load.ids.values()].flatMap(ids => [...ids]) })
  return report
}

/** Statuses, and how refusals must look. */
const KNOWN = /^(200|503|503 sending_service_unavailable, retry-after \d+)$/

type Figures = { asked_per_s: number; served_per_s: number; refused: number; p99_ms: number; longest_ms: number }

class Caller {
  readonly #load: Load
  readonly #url: string
  #next = 0

  constructor(load: Load, url: string) {
    this.#load = load
    this.#url = url
  }

  /** This many callers, each with a request per `interval_ms`, or as soon as the previous one is done if that takes longer. */
  async run(callers: number, seconds: number, interval_ms = 0): Promise<Figures> {
    const start = performance.now()
    const end = start + seconds * 1_000
    const waits: number[] = []
    let served = 0
    const ask = async () => {
      await sleep(Math.random() * interval_ms)
      for (let due = performance.now(); due < end; due = Math.max(due + interval_ms, performance.now())) {
        await sleep(Math.max(0, due - performance.now()))
        const asked_at = performance.now()
        const { status, at } = await this.#load.post(this.#url, this.#next++)
        waits.push(at - asked_at)
        if (status === 200) served++
      }
    }
    await Promise.all(Array.from({ length: callers }, ask))
    const s = (performance.now() - start) / 1_000
    waits.sort((a, b) => a - b)
    const at = (part: number) => Math.round(waits[Math.floor((waits.length - 1) * part)] ?? 0)
    const rates = { asked_per_s: Math.round(waits.length / s), served_per_s: Math.round(served / s) }
    return { ...rates, refused: waits.length - served, p99_ms: at(0.99), longest_ms: at(1) }
  }
}

async function slowDown({ pool }: Stage, ms: number): Promise<void> {
  await pool.pg.query(`
    CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(${ms / 1_000}); RETURN NULL; END $$;
    CREATE TRIGGER dawdle AFTER INSERT ON emails FOR EACH STATEMENT EXECUTE FUNCTION dawdle()`)
}

/** node test/faults/overload.ts [--connections 500] [--seconds 60] */
if (import.meta.main) {
  const options = readOptions({ connections: 500, seconds: 60 })
  for (const [title, more] of Object.entries({
    'more callers than a web process can serve': { statement_ms: 0, bytes: 5 },
    'the same, with texts of 200 KB': { statement_ms: 0, bytes: 200_000 },
    'the same, on a database that is slow': { statement_ms: 2_000, bytes: 5 },
  })) {
    await runCampaign(title, stage => overload(stage, { ...options, ...more, delay_ms: 200 }))
  }
}
