import { request } from 'undici'
import { newId } from '#lib/ids.ts'
import type { Pool } from '#sql/pool.ts'
import { EHLO } from '#test/bench/deliver.ts'
import { type Sink, startSink } from '#test/faults/support/sink.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { dropIndexes } from './many_contacts.ts'
import { type Child, openStage, type Stage } from './stage.ts'

/** The process that serves the API. */
export const PORT = '4601'
export const API = `http://127.0.0.1:${PORT}/api`
/** Campaigns need links that recipients can open; nobody opens these. */
const BASE_URL = 'https://mail.acme.com'

/** Contacts per commit. */
const SLICE = 50_000
const PATIENCE_MS = 600_000

/** The destinations in addContacts: half of all contacts are at the first of 8. */
export const destinationOf = (n: number): string => `d${n % 2 === 0 ? 0 : n % 8}.bench.com`

/** Adds contacts to the sandbox domain, without their history. */
async function addContacts({ pool }: Pick<Stage, 'pool'>, count: number): Promise<void> {
  const makeIndexes = await dropIndexes(pool)
  for (let from = 1; from <= count; from += SLICE) {
    await pool.pg.query(
      `INSERT INTO contacts (account_id, id, domain_id, email, first_name, source)
       SELECT account_id, uuidv7((n - 1000000) * interval '7 seconds'), id,
         'ok-' || n || '@d' || CASE WHEN n % 2 = 0 THEN 0 ELSE n % 8 END || '.bench.com', 'First' || n % 500, 'import'
       FROM domains, generate_series($1::bigint, $2::bigint) AS n WHERE name = 'sandbox.internal'`,
      [from, Math.min(count, from + SLICE - 1)],
    )
  }
  await makeIndexes()
}

/** The html of EMAIL (generate_load.ts) in about the same length, with three links. */
const HTML = `<p>Hello {{first_name}}. ${'It is on its way to you. '.repeat(70)}</p>${[1, 2, 3]
  .map(n => `<p><a href="https://acme.com/offers/${n}?from=news">Offer ${n}</a></p>`)
  .join('')}`

/** Sends a campaign to all contacts; returns its id. */
export async function startCampaign(stage: Stage, fields: object = {}): Promise<string> {
  const { rows } = await stage.pool.pg.query(`SELECT id FROM domains WHERE name = 'sandbox.internal'`)
  const { id } = await ask(stage, 'POST', '/campaigns', {
    ...{ from: 'News <news@sandbox.internal>', subject: 'News for {{first_name}}', html: HTML },
    ...{ audience_id: rows[0].id, send: true, ...fields },
  })
  return id as string
}

export async function ask({ key }: Stage, method: 'GET' | 'POST', path: string, body?: object) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'user-agent': 'bench' }
  const answer = await request(API + path, { method, headers, body: body ? JSON.stringify(body) : null })
  const json = (await answer.body.json()) as Record<string, unknown>
  if (answer.statusCode >= 300) throw new Error(`${path} responded ${JSON.stringify(json)}`)
  return json
}

/** A server with contacts, a sink, and a tool that measures how long an email takes to it. */
export type CampaignStage = { stage: Stage; sink: Sink; latencies: Latencies }

/** Opens such a server for a benchmark, and closes it at the end. */
export async function onCampaignStage(contacts: number, run: (opened: CampaignStage) => Promise<void>): Promise<void> {
  const latencies = new Latencies()
  const stage = await openStage()
  const sink = await startSink({ discard: true, ehlo: EHLO, onMessage: latencies.note })
  try {
    await stage.spawn('workers/web.ts', { PORT, BASE_URL })
    await addContacts(stage, contacts)
    await run({ stage, sink, latencies })
  } finally {
    await stage.close()
    await sink.close()
  }
}

export type WorkerFile = 'worker.ts' | 'unsigned_worker.ts'

export function startWorker(
  { stage, sink }: Pick<CampaignStage, 'stage' | 'sink'>,
  file: WorkerFile = 'worker.ts',
): Promise<Child> {
  return stage.spawn(`test/bench/support/${file}`, { MAIL_TRANSPORT: sink.url, BASE_URL })
}

/** Waits until the run of a campaign meets a condition. */
export async function runReaches({ pg }: Pool, campaign_id: string, condition: string): Promise<void> {
  const query = `SELECT FROM campaign_runs WHERE campaign_id = $1 AND ${condition}`
  await waitUntil(async () => (await pg.query(query, [campaign_id])).rowCount === 1, condition, PATIENCE_MS)
}

/** Measures emails to one address, from the request to the last byte at the sink, which calls `note`. */
class Latencies {
  readonly #arrivals = new Map<string, () => void>()

  readonly note = (rcpts: string[]): void => {
    for (const rcpt of rcpts) this.#arrivals.get(rcpt)?.()
  }

  /** Sends one email to a destination; returns the milliseconds it took. */
  async measure(stage: Stage, destination: string): Promise<number> {
    const to = `ok-${newId()}@${destination}`
    const arrived = new Promise<void>(resolve => this.#arrivals.set(to, resolve))
    const start = performance.now()
    await ask(stage, 'POST', '/emails', { from: 'bench@sandbox.internal', to, subject: 'Your code', text: '123456' })
    await arrived
    this.#arrivals.delete(to)
    return performance.now() - start
  }
}
