import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { createIngestEvent } from '#flows/events/ingest_together.ts'
import { type EventDraft, ingestEvents } from '#sql/events/contact_events.ts'
import type { Pool } from '#sql/pool.ts'
import { interleave, openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'
import { storeAutomation } from '#test/support/automation_runs.ts'

const CONTACTS = 20_000
const COUNT = 10_000
const SINGLE = 2_000
/** Concurrent requests. */
const CALLERS = 100
const IDLE = 300
const WARM = 50
const PAUSE_MS = 5
const URL = 'http://127.0.0.1:4602/api/events/send'

/** Events per second that start a run each, combined into commits, compared with a statement each; and one on an idle server. */
export async function benchEvents(): Promise<void> {
  const stage = await openStage()
  try {
    const drafts = await prepare(stage.pool)
    const ingest = createIngestEvent(stage.pool)
    const rate = async (count: number, store: (draft: EventDraft) => Promise<unknown>) => {
      let left = count
      const began = performance.now()
      const call = async () => {
        while (left-- > 0) await store(drafts())
      }
      await Promise.all(Array.from({ length: CALLERS }, call))
      return (count * 1_000) / (performance.now() - began)
    }
    await rate(500, ingest)
    const figures = await interleave({
      'events together': () => rate(COUNT, ingest),
      'a statement each, 10 connections': () => rate(SINGLE, draft => ingestEvents(stage.pool, [draft])),
    })
    const [together, each] = Object.values(figures) as [number, number]
    report(
      'events with enrolment',
      `${(together / each).toFixed(1)} times a statement each`,
      '>= 4',
      together / each >= 4,
    )

    await measureIdle(stage, drafts)
  } finally {
    await stage.close()
  }
}

/** From the client to the commit and back. */
async function measureIdle(stage: Stage, drafts: () => EventDraft): Promise<void> {
  await stage.spawn('workers/web.ts', { PORT: '4602' })
  const headers = { authorization: `Bearer ${stage.key}`, 'content-type': 'application/json', 'user-agent': 'bench' }
  const times: number[] = []
  for (let n = -WARM; n < IDLE; n++) {
    const { name: event, domain_id: domain, contact_id, payload } = drafts()
    const body = JSON.stringify({ event, domain, contact_id, payload })
    const began = performance.now()
    const answer = await request(URL, { method: 'POST', headers, body })
    await answer.body.dump()
    if (answer.statusCode !== 202) throw new Error(`an event got the status ${answer.statusCode}`)
    if (n >= 0) times.push(performance.now() - began)
    await sleep(PAUSE_MS)
  }
  const p50 = percentile(times, 0.5)
  const figure = `p50 ${p50.toFixed(1)} ms, p99 ${percentile(times, 0.99).toFixed(1)} ms`
  report('POST /events/send on an idle server', figure, 'p50 < 10 ms', p50 < 10)
}

/** Creates contacts of a domain and an automation that each of their events starts; returns events of the contacts in turn. */
async function prepare(pool: Pool): Promise<() => EventDraft> {
  const { rows } = await pool.pg.query('SELECT account_id, id FROM domains LIMIT 1')
  const [{ account_id, id: domain_id }] = rows
  await storeAutomation({ pool }, { id: account_id, domain_id }, [], { trigger: 'order.placed' })
  const { rows: contacts } = await pool.pg.query(
    `INSERT INTO contacts (account_id, id, domain_id, email, source)
     SELECT $1, gen_random_uuid(), $2, 'p' || n || '@b.com', 'api' FROM generate_series(1, $3) n RETURNING id`,
    [account_id, domain_id, CONTACTS],
  )
  await pool.pg.query('ANALYZE')
  let n = 0
  return () => ({
    ...{ account_id, domain_id, contact_id: contacts[n++ % CONTACTS].id, email: null, name: 'order.placed' },
    ...{ payload: { order_id: n, total: 12.5, plan: 'pro' }, tail: `8${randomBytes(8).toString('hex').slice(1)}` },
    ...{ is_refused: false, route: null, key: null, fingerprint: null },
  })
}
