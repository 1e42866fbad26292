import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { request } from 'undici'
import { v7 as uuid } from 'uuid'
import { sql } from '#sql/pool.ts'
import { EMAIL, generateLoad } from '#test/bench/support/generate_load.ts'
import { interleave, openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'

const SIZE = 100
const BATCHES = 100
const IDLE_BATCHES = 50
const LARGE_BATCHES = 20

const URL = 'http://127.0.0.1:4601/api/emails/batch'
const BODY = JSON.stringify(Array.from({ length: SIZE }, () => EMAIL))

/** Emails per second in batches of 100, all stored before the response, compared with plain INSERTs of 100 rows and jobs. */
export async function benchBatch(): Promise<void> {
  const stage = await openStage()
  try {
    await stage.spawn('workers/web.ts', { PORT: '4601' })
    const warm = await measureBatches(stage, 20)
    if (!(warm > 0)) throw new Error('no batch got a response')
    const figures = await interleave({
      'POST /emails/batch': () => measureBatches(stage, BATCHES),
      '100-row inserts and add_jobs': () => measureInserts(stage),
    })
    const part = figures['POST /emails/batch'] / figures['100-row inserts and add_jobs']
    report('emails in batches', `${(100 * part).toFixed(0)} % of bare inserts`, '>= 60 %', part >= 0.6)
    await measureEqual(stage)
    await measureIdle(stage)
  } finally {
    await stage.close()
  }
}

/** Emails per second in batches posted to an API on port 4601; they are deleted afterwards. */
export async function measureBatches(stage: Stage, count: number): Promise<number> {
  const { seconds } = await generateLoad(URL, stage.key, count, { connections: 4, batch: SIZE })
  await empty(stage)
  return (count * SIZE) / seconds
}

/** A small campaign: the cost of 100 equal emails of 30 KB compared with 100 different ones. Disk is the growth of the tables. */
async function measureEqual(stage: Stage): Promise<void> {
  const html = `${EMAIL.html}${'<p>It is on its way to you.</p>'.repeat(900)}`
  const measure = (equal: boolean) => async () => {
    const options = { connections: 4, batch: SIZE, equal, email: { ...EMAIL, html } }
    const { seconds } = await generateLoad(URL, stage.key, LARGE_BATCHES, options)
    disk[String(equal)] = await bytesOf(stage)
    await empty(stage)
    return (LARGE_BATCHES * SIZE) / seconds
  }
  const disk: Record<string, number> = {}
  const figures = await interleave({ 'equal, 30 KB': measure(true), 'different, 30 KB': measure(false) })
  const ratio = figures['equal, 30 KB'] / figures['different, 30 KB']
  const each = (equal: boolean) => `${((disk[String(equal)] ?? 0) / (LARGE_BATCHES * SIZE) / 1024).toFixed(1)} KB`
  report(
    'batches of equal emails',
    `${ratio.toFixed(2)} x different ones; ${each(true)} and ${each(false)} of disk per email`,
    '>= 1.5 x',
    ratio >= 1.5,
  )
}

/** The size of all our tables and indexes in bytes. */
async function bytesOf(stage: Stage): Promise<number> {
  const { rows } = await stage.pool.pg.query(
    `SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  )
  return Number(rows[0].bytes)
}

/** The baseline: one connection, one statement and one commit per 100 emails with a job each. */
async function measureInserts(stage: Stage): Promise<number> {
  const client = new pg.Client({ connectionString: stage.config.DATABASE_URL })
  await client.connect()
  const { rows } = await client.query('SELECT account_id FROM domains LIMIT 1')
  const start = performance.now()
  for (let done = 0; done < BATCHES; done++) await insertHundred(client, rows[0].account_id)
  const seconds = (performance.now() - start) / 1000
  await client.end()
  await empty(stage)
  return (BATCHES * SIZE) / seconds
}

async function insertHundred(client: pg.Client, account_id: string): Promise<void> {
  const ids = Array.from({ length: SIZE }, () => uuid())
  await client.query(
    `WITH stored AS (
      INSERT INTO emails (account_id, id, message_id, sender, "to", cc, bcc, reply_to, subject, tags, status, last_event)
      SELECT $1, id, id::text, $2, $3, '{}', '{}', '{}', $4, '[]', 'queued', 'queued' FROM unnest($6::uuid[]) AS id
    ), contents AS (
      INSERT INTO email_contents (account_id, email_id, headers, html) SELECT $1, id, '{}', $5 FROM unnest($6::uuid[]) AS id
    ), waiting AS (
      INSERT INTO deliveries (account_id, id, email_id, recipient, destination, state, next_at)
      SELECT $1, gen_random_uuid(), id, $3[1], 'sink.internal', 'queued', now() FROM unnest($6::uuid[]) AS id
    )
    SELECT graphile_worker.add_jobs(ARRAY(
      SELECT ROW('send_emails', json_build_object('email_ids', json_build_array(id)), NULL, NULL, NULL, NULL, NULL, NULL)
        ::graphile_worker.job_spec FROM unnest($6::uuid[]) AS id
    ))`,
    [account_id, EMAIL.from, EMAIL.to, EMAIL.subject, EMAIL.html, ids],
  )
}

async function empty(stage: Stage): Promise<void> {
  await stage.pool.run(sql.unsafe`TRUNCATE emails, batches, contents CASCADE`)
  await stage.pool.run(sql.unsafe`TRUNCATE graphile_worker._private_jobs`)
}

async function measureIdle(stage: Stage): Promise<void> {
  const headers = { authorization: `Bearer ${stage.key}`, 'content-type': 'application/json', 'user-agent': 'bench' }
  const times: number[] = []
  for (let count = 0; count < IDLE_BATCHES; count++) {
    const start = performance.now()
    const answer = await request(URL, { method: 'POST', headers, body: BODY })
    await answer.body.dump()
    if (answer.statusCode !== 200) throw new Error(`a batch got the status ${answer.statusCode}`)
    times.push(performance.now() - start)
    await sleep(20)
  }
  const p99 = percentile(times, 0.99)
  const figure = `p50 ${percentile(times, 0.5).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`
  report('a single batch of 100', figure, 'p99 < 100 ms', p99 < 100)
}
