import t from 'tap'
import { newId } from '#lib/ids.ts'
import { type ClaimOptions, claimDeliveries } from '#sql/delivery/deliveries.ts'
import { openTransaction } from '#test/support/database/locks.ts'
import { suppress } from '#test/support/database/states.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool

t.beforeEach(() => pg.query('DELETE FROM deliveries'))

async function claim(options: Partial<ClaimOptions> = {}) {
  return claimDeliveries(world.pool, { lease_owner: newId(), lease_seconds: 40, limit: 100, ...options })
}

/** Each way to claim: there are campaigns to a busy destination, there are none, or some emails are asked for. */
const WAYS = ['beside a busy destination', 'of all', 'by email ids'] as const

/** Accepts an email to each recipient; the last one is due first. `priority` 10: as mail of a campaign. */
async function accept(recipients: string[], priority = 0): Promise<string[]> {
  const account = await newAccount(world)
  const ids: string[] = []
  for (const to of recipients) ids.push(await acceptEmail(world, account, { to }))
  await pg.query(
    `UPDATE deliveries d SET priority = $2, next_at = now() - make_interval(mins => w.n::integer)
     FROM unnest($1::uuid[]) WITH ORDINALITY AS w(id, n) WHERE d.email_id = w.id`,
    [ids, priority],
  )
  return ids
}

function optionsOf(way: (typeof WAYS)[number], email_ids: string[]): Partial<ClaimOptions> {
  if (way === 'by email ids') return { email_ids }
  return way === 'of all' ? {} : { bulk_busy: ['busy.com'] }
}

t.test('claims take what is due longest first', async t => {
  for (const way of WAYS.slice(0, 2)) {
    for (const priority of [0, 10]) {
      const ids = await accept(['a@y.com', 'b@y.com', 'c@y.com', 'd@y.com'], priority)
      const order: string[] = []
      for (let n = 0; n < 4; n++) {
        const claimed = await claim({ ...optionsOf(way, ids), limit: 1 })
        order.push(...claimed.map(({ recipient }) => recipient))
      }
      t.strictSame(order, ['d@y.com', 'c@y.com', 'b@y.com', 'a@y.com'], `${way}, priority ${priority}`)
    }
  }
})

t.test(
  'a claim leaves mail that is not due, that another holds and that is being changed, without waiting',
  async t => {
    for (const way of WAYS) {
      for (const priority of [0, 10]) {
        const ids = await accept(['a@y.com', 'b@y.com', 'c@y.com', 'd@y.com'], priority)
        await pg.query(`UPDATE deliveries SET next_at = now() + interval '1 minute' WHERE recipient = 'a@y.com'`)
        await claim({ email_ids: ids.slice(1, 2) })
        const other = await openTransaction(t, world)
        await other.query(`SELECT FROM deliveries WHERE recipient = 'c@y.com' FOR UPDATE`)
        const options = optionsOf(way, ids)
        const claimed = await claim(options)
        t.strictSame(
          claimed.map(({ recipient }) => recipient),
          ['d@y.com'],
          `${way}, priority ${priority}`,
        )
        await other.rollback()
        t.equal((await claim(options)).length, 1)
        t.strictSame(await claim(options), [])
        await pg.query('DELETE FROM deliveries')
      }
    }
  },
)

t.test('a claim takes as many as asked for, and none to a busy destination', async t => {
  for (const way of WAYS) {
    const ids = await accept(['a@y.com', 'b@full.com', 'c@y.com', 'd@y.com', 'e@y.com'])
    const options = { ...optionsOf(way, ids), busy_destinations: ['full.com'] }
    t.equal((await claim({ ...options, limit: 3 })).length, 3, way)
    t.equal((await claim(options)).length, 1)
    t.strictSame(await claim(options), [])
    t.equal((await claim(optionsOf(way, ids))).length, 1)
  }
})

t.test('a claim tells which recipients are on the suppression list until an entry expires', async t => {
  const account = await newAccount(world)
  const to = ['Ann@y.com', 'bob@y.com', 'cat@y.com', 'dan@y.com']
  const id = await acceptEmail(world, account, { to })
  await suppress(world, account.id, 'ann@y.com')
  await suppress(world, account.id, 'bob@y.com', '2999-01-01')
  await suppress(world, account.id, 'cat@y.com', '2020-01-01')
  await suppress(world, (await newAccount(world)).id, 'dan@y.com')
  const claimed = await claim({ email_ids: [id] })
  t.strictSame(Object.fromEntries(claimed.map(({ recipient, suppressed }) => [recipient, suppressed])), {
    'Ann@y.com': true,
    'bob@y.com': true,
    'cat@y.com': false,
    'dan@y.com': false,
  })
})
