import t, { type Test } from 'tap'
import { z } from 'zod'
import { announce } from '#flows/webhooks/announce.ts'
import { sql, type Tx } from '#sql/pool.ts'
import { newListener, subscribe, takeEvents } from '#test/support/webhooks/webhook_events.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const COUNT = 1_000

const world = await openWorld(t)
const { pool } = world

const Counts = z.object({ lookups: z.int(), times: z.int(), jobs: z.int() })

/** Runs in a transaction; returns how many statements, look-ups of webhooks, calls of iso_time and jobs it made. */
async function counted(run: (tx: Tx) => Promise<unknown>) {
  return pool.transaction(async given => {
    await given.run(sql.unsafe`SET LOCAL track_functions = 'all'`)
    const count = () =>
      given.one(sql.type(Counts)`
        SELECT coalesce(sum(calls) FILTER (WHERE funcname = 'is_heard'), 0)::int AS lookups,
          coalesce(sum(calls) FILTER (WHERE funcname = 'iso_time'), 0)::int AS times,
          (SELECT count(*)::int FROM graphile_worker._private_jobs) AS jobs
        FROM pg_stat_xact_user_functions
      `)
    let statements = 0
    const tx: Tx = {
      ...given,
      any(query) {
        statements++
        return given.any(query)
      },
      run(query) {
        statements++
        return given.run(query)
      },
    }
    const before = await count()
    await run(tx)
    const after = await count()
    return {
      statements,
      lookups: after.lookups - before.lookups,
      times: after.times - before.times,
      jobs: after.jobs - before.jobs,
    }
  })
}

/** Announces one event per number, like an import its rows. */
function announceRows(tx: Tx, { id }: TestAccount): Promise<unknown> {
  return tx.run(sql.unsafe`
    SELECT announce(ARRAY(
      SELECT ROW(${id}::uuid, 'domain.updated', jsonb_build_object('n', r.n, 'created_at', iso_time(to_timestamp(r.n))))::announcement
      FROM (SELECT n FROM generate_series(0, ${COUNT - 1}) AS n ORDER BY md5(n::text)) AS r
      WHERE is_heard(${id}, 'domain.updated') ORDER BY r.n
    ))
  `)
}

const numbers = Array.from({ length: COUNT }, (_, n) => n)
const dataOf = (n: number) => ({ n, created_at: new Date(n * 1_000).toISOString() })

async function tellsAll(t: Test, account: TestAccount): Promise<void> {
  const { rows } = await pool.pg.query(
    `SELECT count(*)::int AS deliveries FROM webhook_deliveries WHERE account_id = $1 AND state = 'pending'`,
    [account.id],
  )
  t.strictSame(rows, [{ deliveries: COUNT }], 'only for the webhook that has subscribed')
  t.strictSame(
    (await takeEvents(world, account.id)).map(({ data }) => data),
    numbers.map(dataOf),
  )
}

t.test('SQL announces 1,000 rows in order, by one statement and one look-up', async t => {
  const account = await newListener(world, ['domain.updated'])
  await subscribe(world, account.id, ['email.sent'])
  const counts = await counted(tx => announceRows(tx, account))
  // One call for the event, one for its data.
  t.strictSame(counts, { statements: 1, lookups: 1, times: 2 * COUNT, jobs: 1 })
  await tellsAll(t, account)
})

t.test('SQL builds no event without a subscription to its type', async t => {
  for (const account of [await newAccount(world), await newListener(world, ['email.sent'])]) {
    const counts = await counted(tx => announceRows(tx, account))
    t.strictSame(counts, { statements: 1, lookups: 1, times: 0, jobs: 0 })
    t.strictSame(await takeEvents(world, account.id), [])
  }
})

t.test('Node announces 1,000 events in order, by two statements and one look-up', async t => {
  const account = await newListener(world, ['domain.updated'])
  await subscribe(world, account.id, ['email.sent'])
  const counts = await counted(tx => announce(tx, happeningsOf(account)))
  t.strictSame(counts, { statements: 2, lookups: 1, times: COUNT, jobs: 1 })
  await tellsAll(t, account)
})

t.test('Node builds events only for accounts with a subscription', async t => {
  const [quiet, heard] = [await newAccount(world), await newListener(world, ['domain.updated'])]
  let built = 0
  const mixed = [quiet, heard].flatMap(account =>
    (['domain.updated', 'domain.deleted'] as const).map(type => ({
      ...{ account_id: account.id, type },
      data: () => ({ built: ++built }),
    })),
  )
  t.match(await counted(tx => announce(tx, mixed)), { statements: 2, lookups: 4 })
  t.equal(built, 1)
  t.strictSame(await takeEvents(world, quiet.id), [])
  t.strictSame(await takeEvents(world, heard.id), [{ type: 'domain.updated', data: { built: 1 } }])
})

function happeningsOf({ id: account_id }: TestAccount) {
  return numbers.map(n => ({ account_id, type: 'domain.updated' as const, data: () => dataOf(n) }))
}
