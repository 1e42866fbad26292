import t from 'tap'
import { purge } from '#tasks/purge.ts'
import { insertLogRows, readLogs } from '#test/support/request_log.ts'
import { openWork } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world

t.test('requests are kept as long as LOG_RETENTION_DAYS says, of each account, however many are older', async t => {
  const [few, many] = [await newAccount(world), await newAccount(world)]
  const old = { created_at: new Date(Date.now() - 31 * 86_400_000).toJSON() }
  const recent = { created_at: new Date(Date.now() - 29 * 86_400_000).toJSON() }
  const kept = []
  for (const account of [few, many]) kept.push(...(await insertLogRows(pool, account, [old, old, recent, {}])).slice(2))
  await pool.pg.query(
    `INSERT INTO logs (account_id, created_at, method, endpoint, response_status, user_agent)
     SELECT $1, now() - interval '40 days', 'GET', '/emails', 200, '' FROM generate_series(1, 2500)`,
    [many.id],
  )
  await purge({}, openWork(t, world))
  const left = [...(await readLogs(pool, few, 0)), ...(await readLogs(pool, many, 0))]
  t.strictSame(left.map(({ id }) => String(id)).sort(), kept.sort())

  await purge({}, openWork(t, { ...world, config: { ...world.config, LOG_RETENTION_DAYS: 0 } }))
  t.strictSame(await readLogs(pool, few, 0), [])
})
