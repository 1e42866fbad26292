import t from 'tap'
import { sweepWebhooks } from '#flows/webhooks/sweep_disabled.ts'
import { sql } from '#sql/pool.ts'
import { purge } from '#tasks/purge.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { shows } from '#test/support/shows.ts'
import { openHistory } from '#test/support/webhooks/webhook_history.ts'
import { newAccount } from '#test/support/world.ts'

const { world, api, work, pg, add, announce, insertEvent, rowsOf, settle } = await openHistory(t)

t.test('sweepWebhooks drops only events waiting for disabled webhooks', async t => {
  const [off, on] = [await add(), await add()]
  const ids = await announce(['email.sent', 'email.sent'])
  await pg.query(`UPDATE webhooks SET status = 'disabled', disabled_reason = 'too_many_failures' WHERE id = $1`, [
    off.id,
  ])
  await settle(off.id, 'success', 1, ids.slice(0, 1))
  await sweepWebhooks(world.pool)
  shows(t, await rowsOf(off.id), [{ state: 'success' }, { state: 'failed', attempt: 0 }])
  shows(t, await rowsOf(on.id), [{ state: 'pending' }, { state: 'pending' }])
})

t.test('sweepWebhooks skips events that another transaction has locked, enabling a webhook waits for them', async t => {
  const { id } = await add()
  const [other = '', locked = ''] = await announce(['email.sent', 'email.sent'])
  await pg.query(`UPDATE webhooks SET status = 'disabled', disabled_reason = 'too_many_failures' WHERE id = $1`, [id])
  const holder = await begin(world, tx =>
    tx.run(sql.unsafe`
      SELECT FROM webhook_deliveries WHERE webhook_id = ${id} AND event_id = ${locked} FOR NO KEY UPDATE
    `),
  )
  t.teardown(() => holder.commit())
  await sweepWebhooks(world.pool)
  shows(t, await rowsOf(id), [
    { id: other, state: 'failed' },
    { id: locked, state: 'pending' },
  ])
  const enabled = api.request('PATCH', `/api/webhooks/${id}`, { body: { status: 'enabled' } })
  await untilBlocked(world, '%webhook_deliveries%')
  await holder.commit()
  t.equal((await enabled).status, 200)
  shows(t, await rowsOf(id), [{ state: 'failed' }, { id: locked, state: 'failed' }])
})

t.test('events are kept for 30 days, those of a deleted webhook only if another got them', async t => {
  const owner = await newAccount(world)
  const [kept, gone] = [await add(['email.sent'], owner), await add(['*'], owner)]
  const days = (count: number) => new Date(Date.now() - count * 86_400_000).toISOString()
  const [shared = '', own = ''] = await announce(['email.bounced', 'email.sent'], owner)
  const old = await insertEvent(kept.id, 'email.sent', 'failed', days(31), owner)
  const recent = await insertEvent(kept.id, 'email.sent', 'failed', days(29), owner)
  await pg.query('UPDATE webhooks SET deleted_at = now() WHERE id = $1', [gone.id])
  await pg.query(
    `INSERT INTO webhook_attempts (account_id, event_id, webhook_id, attempt, id, ms, created_at)
     SELECT account_id, event_id, webhook_id, 1, gen_random_uuid(), 1, now() FROM webhook_deliveries WHERE account_id = $1`,
    [owner.id],
  )
  const left = async () => {
    const of = (table: string, column: string) =>
      pg.query(`SELECT ${column} AS id FROM ${table} WHERE account_id = $1 ORDER BY 1`, [owner.id])
    const tables = [
      of('webhook_events', 'id'),
      of('webhook_deliveries', 'event_id'),
      of('webhook_attempts', 'event_id'),
    ]
    return (await Promise.all(tables)).map(({ rows }) => rows.map(({ id }) => id))
  }
  t.ok((await left())[0]?.includes(old) && (await left())[0]?.includes(own))
  await purge({}, work)
  t.strictSame(await left(), [
    [recent, shared],
    [recent, shared],
    [recent, shared],
  ])
  const row = () => pg.query('SELECT FROM webhooks WHERE id = $1', [gone.id])
  t.equal((await row()).rowCount, 1, 'a transaction that has just read it may still write')
  await pg.query(`UPDATE webhooks SET deleted_at = now() - interval '2 min' WHERE id = $1`, [gone.id])
  await purge({}, work)
  t.equal((await row()).rowCount, 0)
})
