import fc from 'fast-check'
import t from 'tap'
import { newId } from '#lib/ids.ts'
import { insertUnsubscribedEvent } from '#sql/contacts/preferences/choices.ts'
import { claimDeliveries, type DeliveryResult, settleDeliveries } from '#sql/delivery/deliveries.ts'
import { applyReportedOutcome, type ReportedOutcome } from '#sql/receiving/reports.ts'
import { deleteExpiredMetrics, foldMetrics } from '#sql/sending/metrics/keep_metrics.ts'
import { recordHits } from '#sql/tracking/hits.ts'
import { countMetrics, readCounters, readRecorded, readSingle } from '#test/support/metrics.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { makeHit } from '#test/support/tracking.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool

const bounce = { subType: 'General' as const, message: '', diagnosticCode: [] }
const RESULTS: DeliveryResult[] = [
  { outcome: 'delivered' },
  { outcome: 'delivered' },
  { outcome: 'complained' },
  { outcome: 'deferred', delay: 0 },
  { outcome: 'bounced', bounce: { type: 'Permanent', ...bounce } },
  { outcome: 'bounced', bounce: { type: 'Transient', ...bounce } },
  { outcome: 'bounced' },
  { outcome: 'failed', bounce: { type: 'Undetermined', ...bounce } },
  { outcome: 'suppressed' },
  { outcome: 'in_doubt', delay: 0 },
  { outcome: 'in_doubt', hold: true },
  { outcome: 'released', delay: 0 },
]

type Delivery = { id: string; email_id: string; recipient: string }

/** Returns a random number below this one, which decides what happens next. */
type Next = (below: number) => number

async function settleAll(next: Next): Promise<void> {
  const claim = { lease_owner: newId(), lease_seconds: 100, limit: 100 }
  for (let round = 0; round < 4; round++) {
    const claimed = await claimDeliveries(world.pool, { ...claim, lease_owner: newId() })
    const settled = claimed.map(({ account_id, id, attempt, lease_owner, email_id }) => ({
      ...{ account_id, id, attempt, lease_owner, email_id },
      ...(RESULTS[next(RESULTS.length)] as DeliveryResult),
    }))
    await settleDeliveries(world.pool, settled)
  }
}

async function report(account: TestAccount, { id: delivery_id }: Delivery, next: Next): Promise<void> {
  const outcome = (['bounced', 'failed', 'complained'] as const)[next(3)] as ReportedOutcome['outcome']
  const type = next(2) ? ('Permanent' as const) : ('Undetermined' as const)
  const told = { reason: '', reply: null, class: null, bounce: { type, ...bounce }, suppression_id: newId() }
  await world.pool.transaction(tx =>
    applyReportedOutcome(tx, { account_id: account.id, delivery_id, outcome, ...told }),
  )
}

async function hit(account: TestAccount, { id: delivery_id, email_id }: Delivery, next: Next): Promise<void> {
  const email = { account_id: account.id, delivery_id, email_id, recipient: '', open_path: '', click_paths: [] }
  const links = ['https://a.com/', 'https://b.com/', 'https://c.com/']
  const hits = Array.from({ length: 1 + next(3) }, () => {
    const fields = { class: (['human', 'proxy', 'mpp', 'machine'] as const)[next(4)] as 'human' }
    return makeHit({ ...email, urls: links }, next(2) ? null : next(3), 60_000 + next(300) * 9_000, fields)
  })
  await recordHits(world.pool, hits)
  if (next(3) === 0) await recordHits(world.pool, hits)
}

async function unsubscribe({ id: account_id }: TestAccount, { email_id, recipient: address }: Delivery): Promise<void> {
  const what = { address, contact_id: null, topic_id: null }
  await world.pool.transaction(tx => insertUnsubscribedEvent(tx, { account_id, email_id }, what))
}

t.test('metrics equal counts of the rows, whatever the order of events', async t => {
  const [first, second] = [await newAccount(world), await newAccount(world)]
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.nat(0xffff)), async stream => {
      const next: Next = below => (stream.next().value as number) % below
      for (const account of [first, second]) {
        const to = Array.from({ length: 1 + next(3) }, () => `${newId()}@b.com`)
        if (next(3) === 0) to.push('x@example.com')
        await acceptEmail(world, account, { to, html: '<a href="https://a.com/">x</a>', track_opens: true })
      }
      await settleAll(next)
      for (const account of [first, second]) {
        const { rows } = await pg.query<Delivery>(
          'SELECT id, email_id, recipient FROM deliveries WHERE account_id = $1',
          [account.id],
        )
        for (let step = 0; step < 4; step++) {
          const delivery = rows[next(rows.length)] as Delivery
          const kind = next(4)
          if (kind === 0) await report(account, delivery, next)
          else if (kind === 1) await unsubscribe(account, delivery)
          else await hit(account, delivery, next)
        }
      }
    }),
    { numRuns: 30, endOnFailure: true },
  )
  for (const account of [first, second]) {
    const counted = await readCounters(world, account)
    t.strictSame(counted, await readRecorded(world, account))
    t.strictSame(counted, await readSingle(world, account))
    t.ok(Object.keys(counted).length > 2, 'several quarters of an hour')
  }
})

const DAY = 86_400_000
const ago = (ms: number) => new Date(Date.now() - ms)

async function shardsOf({ id }: TestAccount): Promise<number[]> {
  const { rows } = await pg.query('SELECT shard FROM email_metrics WHERE account_id = $1 ORDER BY quarter, shard', [id])
  return rows.map(({ shard }) => shard)
}

t.test('foldMetrics adds up shards an hour after their quarter hour', async t => {
  const account = await newAccount(world)
  const old = ago(DAY)
  for (const by of [3, 2]) {
    await countMetrics(world, account, [
      { name: 'sent', by, at: old },
      { name: 'opened', at: old },
    ])
    if (by === 3) await pg.query('UPDATE email_metrics SET shard = shard + 8 WHERE account_id = $1', [account.id])
  }
  await countMetrics(world, account, [{ name: 'sent', at: new Date() }])
  const before = await readCounters(world, account)
  t.equal(await foldMetrics(world.pool, 100), 2)
  const [folded, fresh = 0] = await shardsOf(account)
  t.equal(folded, 0)
  t.ok(fresh > 0, 'shards that may still be written to are kept')
  t.strictSame(await readCounters(world, account), before)

  await countMetrics(world, account, [{ name: 'sent', by: -1, at: old }])
  t.equal(await foldMetrics(world.pool, 100), 1)
  t.equal(await foldMetrics(world.pool, 100), 0)
  t.strictSame(Object.values(await readCounters(world, account)), [{ opened: 2, sent: 4 }, { sent: 1 }])
})

t.test('metrics are deleted after 400 days', async t => {
  const account = await newAccount(world)
  const times = [ago(399 * DAY), ago(401 * DAY), ago(402 * DAY)]
  await countMetrics(
    world,
    account,
    times.map(at => ({ name: 'sent', at })),
  )
  t.equal(await deleteExpiredMetrics(world.pool, 1), 1)
  t.equal(await deleteExpiredMetrics(world.pool, 100), 1)
  t.equal((await shardsOf(account)).length, 1)
})

t.test('a late bounce subtracts nothing from a quarter hour without metrics', async t => {
  const account = await newAccount(world)
  await acceptEmail(world, account)
  await settleAll(() => 0)
  await pg.query('DELETE FROM email_metrics WHERE account_id = $1', [account.id])
  const { rows } = await pg.query<Delivery>('SELECT id FROM deliveries WHERE account_id = $1', [account.id])
  await report(account, rows[0] as Delivery, () => 0)
  t.strictSame(Object.values(await readCounters(world, account)), [{ bounced_undetermined: 1 }])
})
