import t from 'tap'
import { v7 as uuid } from 'uuid'
import { sweepDeliveries } from '#flows/delivery/recover_deliveries.ts'
import { claimDeliveries, settleDeliveries } from '#sql/delivery/deliveries.ts'
import { extendLeases, fenceDeliveries } from '#sql/delivery/leases.ts'
import { listLostDeliveries } from '#sql/delivery/stray_deliveries.ts'
import { endLeases } from '#test/support/database/states.ts'
import { acceptEmail, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool, log, config } = world
const account = await newAccount(world)
const sweep = () => sweepDeliveries(pool, log, config)

t.test('a delivery lost before its fence is due again, as an attempt', async t => {
  const token = await claim()
  await sweep()
  shows(t, await find(token.id), { state: 'sending' }, 'not while its lease runs')
  await expire(token.id)
  await sweep()
  const due = { state: 'queued', phase: null, lease_owner: null, lease_until: null, next_at: Date }
  t.match(await find(token.id), { ...due, attempt: 1, lost_count: 1, reason: 'Its worker died before it was sent.' })
  const email = await readEmail(world, account, token.email_id)
  shows(t, email, { status: 'delivery_delayed', events: [], queue: [{ state: 'queued', attempts: 1 }] })
})

t.test('a delivery lost after its fence is in doubt or held', async t => {
  for (const [IN_DOUBT, state] of [
    ['resend', 'in_doubt'],
    ['hold', 'held'],
  ] as const) {
    const token = await claim()
    shows(t, await fenceDeliveries(pool, [token], 40), [{ id: token.id }])
    await expire(token.id)
    await sweepDeliveries(pool, log, { ...config, IN_DOUBT })
    const reason = 'Its worker died while the receiver’s answer was awaited.'
    const email = await readEmail(world, account, token.email_id)
    shows(t, email, { status: 'sent', events: [{ type: 'in_doubt', reason }], queue: [{ state, reason, attempts: 1 }] })
    t.match(await find(token.id), { lost_count: 0, in_doubt_count: 1 })
  }
})

t.test('a delivery is in doubt since the last sign of life of its worker', async t => {
  const token = await claim()
  await fenceDeliveries(pool, [token], 40)
  const { rows } = await pool.pg.query(
    `UPDATE deliveries SET lease_until = now() - interval '15 seconds', updated_at = now() - interval '2 minutes'
     WHERE id = $1 RETURNING lease_until`,
    [token.id],
  )
  await sweep()
  const { events } = await readEmail(world, account, token.email_id)
  shows(
    t,
    // The sweep reads the lease some time before it writes the result.
    events.map(({ type, created_at }) => [type, Math.round((rows[0].lease_until - created_at.getTime()) / 10_000)]),
    [['in_doubt', 4]],
  )
})

t.test('a delivery fails after ten workers died over it', async t => {
  const { id, email_id } = await claim()
  for (let lost = 1; lost <= 9; lost++) {
    await expire(id)
    await sweep()
    shows(t, await find(id), { state: 'queued', lost_count: lost })
    await claim(email_id)
  }
  await expire(id)
  await sweep()
  const reason = 'Given up: ten workers died while they had it.'
  shows(t, await find(id), { state: 'failed', attempt: 10, reason })
  shows(t, await readEmail(world, account, email_id), { status: 'failed', events: [{ type: 'failed', reason }] })
})

t.test('a fence that passes during a sweep keeps its delivery', async t => {
  const token = await claim()
  await expire(token.id)
  const lost = await listLostDeliveries(pool, 500)
  shows(t, lost, [{ id: token.id, phase: 'pre' }])
  await pool.pg.query(`UPDATE deliveries SET lease_until = now() + interval '1 s' WHERE id = $1`, [token.id])
  t.equal((await fenceDeliveries(pool, [token], 40)).length, 1)

  const outcome = { outcome: 'lost' as const, reason: 'lost' }
  t.strictSame(
    await settleDeliveries(
      pool,
      lost.map(stray => ({ ...stray, ...outcome })),
    ),
    [],
  )
  shows(t, await find(token.id), { state: 'sending', phase: 'dot' })
})

t.test('a worker cannot extend or fence a lost lease', async t => {
  const token = await claim()
  await expire(token.id)
  t.strictSame(await extendLeases(pool, [token], 40), [])
  t.strictSame(await fenceDeliveries(pool, [token], 40), [])
  await sweep()
  const again = await claim(token.email_id)
  t.strictSame(await extendLeases(pool, [token], 40), [])
  t.strictSame(await fenceDeliveries(pool, [token, { ...token, attempt: 2 }], 40), [])
  t.strictSame(await extendLeases(pool, [token, again], 40), [token.id])
  shows(t, await fenceDeliveries(pool, [token, again], 40), [{ id: token.id, lease_owner: again.lease_owner }])
  t.strictSame(await fenceDeliveries(pool, [again], 40), [], 'and a fence passes once')
  await settleDeliveries(pool, [{ ...again, outcome: 'delivered' }])
})

t.test('concurrent sweeps take over each delivery once', async t => {
  const to = Array.from({ length: 50 }, (_, i) => `u${i}@y.com`)
  const ids = await Promise.all(Array.from({ length: 24 }, () => acceptEmail(world, account, { to })))
  const claimed = await claimDeliveries(pool, { lease_owner: uuid(), lease_seconds: 40, limit: 5_000, email_ids: ids })
  t.equal(claimed.length, 1_200)
  await endLeases(world, ids)
  await Promise.all([sweep(), sweep(), sweep()])
  const { rows } = await pool.pg.query(
    'SELECT state, lost_count, count(*)::int FROM deliveries WHERE email_id = ANY($1) GROUP BY 1, 2',
    [ids],
  )
  t.strictSame(rows, [{ state: 'queued', lost_count: 1, count: 1_200 }])
})

async function claim(email_id?: string) {
  const email_ids = [email_id ?? (await acceptEmail(world, account))]
  const [token] = await claimDeliveries(pool, { lease_owner: uuid(), lease_seconds: 40, limit: 1, email_ids })
  if (!token) throw new Error('nothing was claimed')
  return token
}

async function expire(id: string): Promise<void> {
  await pool.pg.query(`UPDATE deliveries SET lease_until = now() - interval '1 ms' WHERE id = $1`, [id])
}

async function find(id: string): Promise<Record<string, unknown>> {
  return (await pool.pg.query('SELECT * FROM deliveries WHERE id = $1', [id])).rows[0]
}
