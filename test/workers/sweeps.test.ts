import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { sql } from '#sql/pool.ts'
import { FAULT_TIMES } from '#test/faults/support/worker.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { openHistory } from '#test/support/webhooks/webhook_history.ts'
import { startWorker } from '#workers/worker.ts'

const SWEEP = `%w.status = 'disabled'%`

t.test('a sweep that takes longer than its interval does not overlap itself, and goes on', async t => {
  const { world, pg, add, announce, rowsOf } = await openHistory(t)
  const { id } = await add()
  await announce(['email.sent'])
  await pg.query(`UPDATE webhooks SET status = 'disabled', disabled_reason = 'too_many_failures' WHERE id = $1`, [id])
  const holder = await begin(world, tx => tx.run(sql.unsafe`LOCK TABLE webhooks`))
  const worker = await startWorker(world, { times: { ...FAULT_TIMES, sweep_ms: 50 } })
  t.teardown(() => worker.stop())
  t.teardown(() => holder.commit())
  await untilBlocked(world, SWEEP)
  await sleep(500)
  const { rowCount } = await pg.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND wait_event_type = 'Lock'
       AND query LIKE $1`,
    [SWEEP],
  )
  t.equal(rowCount, 1)
  await holder.commit()
  const dropped = () => waitUntil(async () => (await rowsOf(id))[0].state === 'failed', 'a sweep drops the event')
  await dropped()
  await pg.query(`UPDATE webhook_deliveries SET state = 'pending', next_at = now() WHERE webhook_id = $1`, [id])
  await dropped()
})
