import type { Foundation } from '#flows/process/run_process.ts'
import { insertWebhook, takeWebhookId } from '#sql/webhooks/webhooks.ts'
import { newAccount, type TestAccount } from '#test/support/world.ts'

// biome-ignore lint/suspicious/noExplicitAny: whatever is told, for tests to look into
export type Told = { type: string; data: any }

/** A webhook that has subscribed to some events; nobody delivers them. */
export async function subscribe({ pool }: Pick<Foundation, 'pool'>, account_id: string, events = ['*']): Promise<void> {
  const id = await takeWebhookId(pool)
  const webhook = { account_id, id, endpoint: 'http://y.com/hook', events, signing_secret: Buffer.of() }
  await pool.transaction(tx => insertWebhook(tx, webhook))
}

/** An account that has such a webhook. */
export async function newListener(world: Foundation, events?: string[]): Promise<TestAccount> {
  const account = await newAccount(world)
  await subscribe(world, account.id, events)
  return account
}

/** Takes out what an account is to be told, in its order: the next call answers what came since. */
export async function told({ pool }: Pick<Foundation, 'pool'>, account_id: string): Promise<Told[]> {
  const { rows } = await pool.pg.query(
    `WITH gone AS (DELETE FROM webhook_events WHERE account_id = $1 RETURNING id, type, convert_from(body, 'UTF8') AS body)
     SELECT type, body FROM gone ORDER BY id`,
    [account_id],
  )
  return rows.map(({ type, body }) => {
    const { data, type: said } = JSON.parse(body)
    if (said !== type) throw new Error(`${type} says that it is ${said}`)
    return { type, data }
  })
}

/** Their types alone. */
export async function toldTypes(world: Pick<Foundation, 'pool'>, account_id: string): Promise<string[]> {
  return (await told(world, account_id)).map(({ type }) => type)
}
