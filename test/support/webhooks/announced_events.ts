import type { Foundation } from '#flows/process/run_process.ts'
import type { Places } from '#flows/webhooks/leased_endpoints.ts'
import { WebhookSender } from '#flows/webhooks/sender.ts'
import { makeSigningSecret } from '#flows/webhooks/signing_secrets.ts'
import type { WebhookTimes } from '#flows/webhooks/times.ts'
import { insertWebhook, takeWebhookId } from '#sql/webhooks/webhooks.ts'
import { addWebhook } from '#test/support/webhooks/add_webhook.ts'
import { newAccount } from '#test/support/world.ts'
import type { Hook, Posted } from './webhook_receiver.ts'

type Base = Pick<Foundation, 'pool'>

/** Stores this many events for the webhooks of an account, in the order of `data.n`. */
export async function announce({ pool }: Base, account_id: string, count: number, data: object = {}): Promise<void> {
  const given = Array.from({ length: count }, (_, n) => ({ account_id, type: 'domain.updated', data: { n, ...data } }))
  await pool.pg.query('SELECT announce_events($1)', [JSON.stringify(given)])
}

export type Endpoint = { account_id: string; id: string; signing_secret: string; posted: () => Posted[] }

/** Adds a webhook for all events with its own endpoint, by default to a new account; `posted` returns what arrived there. */
export async function addEndpoint(
  world: Foundation,
  hook: Hook,
  name: string,
  given_account?: string,
): Promise<Endpoint> {
  const account_id = given_account ?? (await newAccount(world)).id
  const { id, signing_secret } = await addWebhook(world, account_id, { endpoint: `${hook.url}/${name}`, events: ['*'] })
  return { account_id, id, signing_secret, posted: () => hook.posted.filter(({ path }) => path === `/hook/${name}`) }
}

type Services = Pick<Foundation, 'pool' | 'secrets'>

/** Adds a webhook for all events without checking its endpoint. Returns its id. */
export async function insertUnchecked(
  { pool, secrets }: Services,
  account_id: string,
  endpoint: string,
): Promise<number> {
  const id = await takeWebhookId(pool)
  const { sealed: signing_secret } = makeSigningSecret(secrets, { account_id, id })
  await pool.transaction(tx => insertWebhook(tx, { account_id, id, endpoint, events: ['*'], signing_secret }))
  return id
}

type WebhookRow = {
  status: string
  disabled_reason: string | null
  failure_count: number
  /** Seconds until the rest ends; null: it does not rest. */
  rests: number | null
  lease_owner: string | null
}

export async function readWebhook({ pool }: Base, id: string): Promise<WebhookRow> {
  const { rows } = await pool.pg.query(
    `SELECT status, disabled_reason, failure_count, lease_owner,
       extract(epoch FROM rest_until - now())::float AS rests FROM webhooks WHERE id = $1`,
    [id],
  )
  return rows[0]
}

/** The number of deliveries of a webhook in each state. */
export async function countDeliveries({ pool }: Base, id: string): Promise<Record<string, number>> {
  const { rows } = await pool.pg.query(
    'SELECT state, count(*)::int AS count FROM webhook_deliveries WHERE webhook_id = $1 GROUP BY state',
    [id],
  )
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

type AttemptRow = { status: number | null; error: string | null; response: string | null; ms: number; attempt: number }

/** All attempts of a webhook, in the order of their start. */
export async function listAttempts({ pool }: Base, id: string): Promise<AttemptRow[]> {
  const { rows } = await pool.pg.query(
    'SELECT status, error, response, ms, attempt FROM webhook_attempts WHERE webhook_id = $1 ORDER BY created_at, id',
    [id],
  )
  return rows
}

/** A webhook sender like that of a worker process, stopped with the test. */
export function startSender(
  t: { teardown(end: () => unknown): unknown },
  world: Foundation,
  times: WebhookTimes,
  places?: Places,
): WebhookSender {
  const sender = new WebhookSender({ ...world, times, places })
  sender.start()
  t.teardown(() => sender.stop())
  return sender
}
