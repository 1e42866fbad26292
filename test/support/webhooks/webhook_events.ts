import type { Foundation } from '#flows/process/run_process.ts'
import { insertWebhook, takeWebhookId } from '#sql/webhooks/webhooks.ts'
import { newAccount, type TestAccount } from '#test/support/world.ts'

// biome-ignore lint/suspicious/noExplicitAny: events have any data
export type TakenEvent = { type: string; data: any }

/** A webhook that subscribes to some events; nothing delivers them. */
export async function subscribe({ pool }: Pick<Foundation, 'pool'>, account_id: string, events = ['*']): Promise<void> {
  const id = await takeWebhookId(pool)
  const webhook = { account_id, id, endpoint: 'http://y.com/hook', events, signing_secret: Buffer.of() }
  await pool.transaction(tx => insertWebhook(tx, webhook))
}

/** An account with such a webhook. */
export async function newListener(world: Foundation, events?: string[]): Promise<TestAccount> {
  const account = await newAccount(world)
  await subscribe(world, account.id, events)
  return account
}

/** Removes and returns the events waiting for an account, in order: the next call returns what came since. */
export async function takeEvents({ pool }: Pick<Foundation, 'pool'>, account_id: string): Promise<TakenEvent[]> {
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

/** Only their types. */
export async function takeEventTypes(world: Pick<Foundation, 'pool'>, account_id: string): Promise<string[]> {
  return (await takeEvents(world, account_id)).map(({ type }) => type)
}
