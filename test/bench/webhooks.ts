import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { request } from 'undici'
import { v7 as uuid } from 'uuid'
import { insertAccount } from '#sql/accounts/accounts.ts'
import { sql } from '#sql/pool.ts'
import { type Child, interleave, openStage, report, type Stage } from '#test/bench/support/stage.ts'
import { startSink } from '#test/faults/support/sink.ts'
import { ROOT } from '#test/support/root.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { addWebhook } from '#test/support/webhooks/add_webhook.ts'
import { EHLO, endToEnd } from './deliver.ts'

const HOOK_PORT = 4607
const HOOK = `http://127.0.0.1:${HOOK_PORT}/hook`
/** Webhooks that get events at the same moment, with two connections each; the baseline has as many connections. */
const WEBHOOKS = 8
const COUNT = 12_000
const PATIENCE_MS = 600_000
const DATA = {
  email_id: uuid(),
  created_at: new Date().toISOString(),
  from: 'Bench <bench@sandbox.internal>',
  to: ['ok@sink.internal'],
  subject: 'Your order has shipped',
  message_id: `<${uuid()}@sandbox.internal>`,
  tags: { order: '4711' },
}

/** Webhook deliveries per second, stored, compared with undici alone, and how much a webhook slows down sending. */
export async function benchWebhooks(): Promise<void> {
  const stage = await openStage()
  const sink = await startSink({ discard: true, ehlo: EHLO })
  try {
    await stage.spawn('test/bench/support/hook_server.ts', { PORT: String(HOOK_PORT) })
    await stage.spawn('workers/web.ts', { PORT: '4601' })
    const environment = { MAIL_TRANSPORT: sink.url, FETCH_ALLOW: '127.0.0.1', FETCH_PORTS: String(HOOK_PORT) }
    const worker = await stage.spawn('test/bench/support/worker.ts', environment)
    await measureDeliveries(stage, worker)
    for (let run = 0; run < 2; run++) await endToEnd(stage, sink)
    const { rows } = await stage.pool.pg.query('SELECT id FROM accounts WHERE name = $1', ['default'])
    const webhook = await addWebhook(stage, rows[0].id, { endpoint: HOOK, events: ['*'] })
    const subscribe = (status: string) =>
      stage.pool.pg.query(
        `UPDATE webhooks SET status = $1, disabled_reason = CASE $1 WHEN 'disabled' THEN 'manual' END WHERE id = $2`,
        [status, webhook.id],
      )
    const figures = await interleave({
      'sends with a webhook for all events': async () => {
        await subscribe('enabled')
        const rate = await endToEnd(stage, sink)
        await settled(stage)
        return rate
      },
      'sends without a webhook': async () => {
        await subscribe('disabled')
        return endToEnd(stage, sink)
      },
    })
    const ratio = figures['sends with a webhook for all events'] / figures['sends without a webhook']
    report('sends with a webhook', `${(100 * ratio).toFixed(0)} % of without`, '>= 75 %', ratio >= 0.75)
  } finally {
    await stage.close()
    await sink.close()
  }
}

async function measureDeliveries(stage: Stage, worker: Child): Promise<void> {
  const account_ids = await addReceivers(stage)
  await deliver(stage, worker, account_ids, COUNT / 4)
  const figures = await interleave({
    'webhooks delivered': () => deliver(stage, worker, account_ids, COUNT),
    'undici alone': postBare,
  })
  const ratio = figures['webhooks delivered'] / figures['undici alone']
  report('webhook deliveries', `${(100 * ratio).toFixed(0)} % of bare undici`, '>= 30 %', ratio >= 0.3)
}

async function addReceivers(stage: Stage): Promise<string[]> {
  const account_ids = Array.from({ length: WEBHOOKS }, () => uuid())
  for (const id of account_ids) {
    await insertAccount(stage.pool, { id, name: id, plan: 'unlimited' })
    await addWebhook(stage, id, { endpoint: HOOK, events: ['email.delivered'] })
  }
  return account_ids
}

/** The worker is stopped while the events are stored. */
async function deliver(stage: Stage, worker: Child, account_ids: string[], count: number): Promise<number> {
  worker.process.kill('SIGSTOP')
  for (let written = 0; written < count; written += 100) {
    const events = Array.from({ length: 100 }, (_, n) => {
      const account_id = account_ids[n % account_ids.length]
      return { account_id, type: 'email.delivered', data: DATA }
    })
    await stage.pool.run(sql.unsafe`SELECT announce_events(${JSON.stringify(events)}::json)`)
  }
  const before = await countPosted()
  worker.process.kill('SIGCONT')
  const start = performance.now()
  await waitUntil(async () => (await countPosted()) >= before + count, `${count} events have arrived`, PATIENCE_MS)
  const rate = count / ((performance.now() - start) / 1000)
  await settled(stage)
  return rate
}

async function countPosted(): Promise<number> {
  const { body } = await request(HOOK)
  return Number(await body.text())
}

/** Checks that all results are stored, without which the figure would be wrong. */
async function settled({ pool }: Stage): Promise<void> {
  const unsettled = `SELECT FROM webhook_deliveries WHERE state <> 'success' LIMIT 1`
  await waitUntil(async () => (await pool.pg.query(unsettled)).rowCount === 0, 'every result is written', PATIENCE_MS)
}

async function postBare(): Promise<number> {
  const body = JSON.stringify({ type: 'email.delivered', created_at: DATA.created_at, id: uuid(), data: DATA })
  const environment = { HOOK_URL: HOOK, COUNT: String(COUNT), CALLERS: String(2 * WEBHOOKS), BODY: body }
  const path = join(ROOT, 'test/bench/support/undici_poster.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [path], { env: environment })
  return Number(stdout)
}
