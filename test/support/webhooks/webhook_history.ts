import type { Test } from 'tap'
import { startApi } from '#test/support/api.ts'
import { ALLOWED } from '#test/support/http/fetching.ts'
import { openWork } from '#test/support/sending.ts'
import { addWebhook } from '#test/support/webhooks/add_webhook.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'
import { startHook } from './webhook_receiver.ts'

export type ListedEvent = { id: string; type: string; status: string; created_at: string }
type List = { object: string; has_more: boolean; data: ListedEvent[] }

/** Webhooks of an account with a receiver and events; only `deliver` sends them. */
export async function openHistory(t: Test) {
  const hook = await startHook(t)
  const world = await openWorld(t, { FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(hook.port) })
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const work = openWork(t, world, 'capture')
  const { pg } = world.pool
  const get = async (path: string) => {
    const { status, body } = await api.request('GET', `/api/webhooks/${path}`)
    return { status, body: body as unknown as List & Record<string, unknown> }
  }

  /** Adds events of an account in one commit, so that ids have their order. Returns their ids, newest first. */
  async function announce(types: string[], owner: TestAccount = account): Promise<string[]> {
    const given = types.map((type, n) => ({ account_id: owner.id, type, data: { n } }))
    await pg.query('SELECT announce_events($1)', [JSON.stringify(given)])
    const { rows } = await pg.query('SELECT id FROM webhook_events WHERE account_id = $1 ORDER BY id DESC LIMIT $2', [
      owner.id,
      types.length,
    ])
    return rows.map(({ id }) => id)
  }

  /** Adds an event with two attempts; returns its id. */
  async function insertEvent(id: string, type: string, state: string, time: string, owner = account): Promise<string> {
    const { rows } = await pg.query(
      `WITH e AS (INSERT INTO webhook_events VALUES ($1, event_id($4, 0), $3, '{}', $4) RETURNING *)
       INSERT INTO webhook_deliveries SELECT account_id, id, $2, $5, 2 FROM e RETURNING event_id`,
      [owner.id, id, type, time, state],
    )
    return rows[0].event_id
  }

  return {
    ...{ hook, world, account, api, work, pg, get, announce, insertEvent },
    add: (events = ['*'], owner = account) => addWebhook(world, owner.id, { endpoint: hook.url, events }),
    post: (path: string, body: unknown = {}) => api.request('POST', `/api/webhooks/${path}`, { body }),
    async idsOf(path: string) {
      const { status, body } = await get(path)
      return status === 200 ? body.data.map(({ id }) => id) : status
    },
    async deliver(id: string, owner = account) {
      await work.webhooks.offer([{ account_id: owner.id, id: Number(id) }])
      await work.webhooks.idle()
    },
    /** Newest first. */
    async rowsOf(id: string) {
      const { rows } = await pg.query(
        `SELECT event_id AS id, state, attempt, first_attempt, next_at <= now() AS is_due FROM webhook_deliveries
         WHERE webhook_id = $1 ORDER BY event_id DESC`,
        [id],
      )
      return rows
    },
    settle: (id: string, state: 'failed' | 'success', attempt: number, events: string[]) =>
      pg.query(
        `UPDATE webhook_deliveries SET state = $2, attempt = $3, next_at = NULL
         WHERE webhook_id = $1 AND event_id = ANY ($4)`,
        [id, state, attempt, events],
      ),
  }
}
