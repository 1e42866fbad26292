import t from 'tap'
import type { Outcome, Outgoing, Transport } from '#lib/delivery/transport.ts'
import { newId } from '#lib/ids.ts'
import { type ClaimedDelivery, claimDeliveries } from '#sql/delivery/deliveries.ts'
import { setDomainTransport } from '#sql/domains/domains.ts'
import { openPipeline } from '#test/support/pipeline.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { MAIL_TRANSPORT: 'capture' })
const account = await newAccount(world)
const direct = await newAccount(world)
await setDomainTransport(world.pool, { account_id: direct.id, id: direct.domain_id }, 'direct')

const RELEASED: Outcome = { outcome: 'released', reason: 'The test has ended.' }

t.test('as many deliveries as there are slots are set aside, and the rest hold their slots', async t => {
  const started: { outgoing: Outgoing; reply: (outcome: Outcome) => void }[] = []
  const transport: Transport = {
    concurrency: 2,
    close() {},
    deliver: outgoing => new Promise(reply => started.push({ outgoing, reply })),
  }
  let room = 0
  const pipeline = openPipeline(world, { transport, onRoom: () => room++ })
  const [first, second, third, fourth] = [0, 1, 2, 3].map(n => () => started[n])
  const untilStarted = (count: number) => waitUntil(() => started.length === count, `${count} are sent`)
  const deliveries = await claim(account, 'a.com', 5)
  for (const [n, delivery] of deliveries.entries()) pipeline.take({ ...delivery, destination: `${n}.com` })
  await untilStarted(2)
  t.same([first?.()?.outgoing.onSilence?.(), second?.()?.outgoing.onSilence?.()], [true, true])
  t.same([pipeline.load, room], [3, 2], 'they leave room for others')
  await untilStarted(4)
  t.same([third?.()?.outgoing.onSilence?.(), fourth?.()?.outgoing.onSilence?.()], [false, false])

  first?.()?.reply(RELEASED)
  await waitUntil(() => pipeline.held.size === 4, 'the first has ended')
  t.equal(started.length, 4, 'it had no slot to give to the next')
  t.equal(third?.()?.outgoing.onSilence?.(), true)
  await untilStarted(5)
  for (const { reply } of started) reply(RELEASED)
  await pipeline.idle()
  t.equal(pipeline.load, 0)
})

t.test('a delivery whose lane is found only after the stop is released once', async t => {
  const found = Promise.withResolvers<string>()
  const sent: string[] = []
  const transport: Transport = {
    concurrency: 2,
    close() {},
    route: async () => ({ lane: await found.promise, isShared: false, wait: null }),
    deliver: async ({ recipient }) => {
      sent.push(recipient)
      return RELEASED
    },
  }
  const pipeline = openPipeline(world, { transport })
  const [delivery] = await claim(account, 'b.com', 1)
  pipeline.take(delivery as ClaimedDelivery)
  pipeline.stop()
  await pipeline.idle()
  found.resolve('b.com')
  await new Promise(setImmediate)
  t.same([sent, pipeline.load, pipeline.busy(1).busy_destinations], [[], 0, []])
  shows(t, await reasonsOf(delivery), { 'The worker stopped.': 1 })
})

/** A pipeline has places for 1,000. */
const [HALF, FEW] = [499, 10]

t.test('a lane of several destinations leaves room for other mail', async t => {
  for (const isShared of [true, false]) {
    const reason = isShared ? 'Other mail to the same receiver goes first.' : 'The worker stopped.'
    t.same(await reasonOfMore(`shared-${isShared}.com`, silent(isShared)), {
      early: { 'The worker stopped.': HALF },
      late: { [reason]: FEW },
    })
  }
})

t.test('mail by one of several transports leaves room for the others', async t => {
  for (const isOther of [true, false]) {
    const others = isOther ? await claim(direct, 'other.com', 1) : []
    const reason = isOther ? 'Other mail by the same transport goes first.' : 'The worker stopped.'
    t.same(await reasonOfMore(`by-${isOther}.com`, silent(false), others), {
      early: { 'The worker stopped.': HALF },
      late: { [reason]: FEW },
    })
  }
})

/** Returns the reasons of deliveries that come when a destination has half of the places. */
async function reasonOfMore(destination: string, transport: Transport, others: ClaimedDelivery[] = []) {
  const pipeline = openPipeline(world, { transport })
  const [early, late] = [await claim(account, destination, HALF), await claim(account, destination, FEW)]
  for (const some of [[...others, ...early], late]) {
    for (const delivery of some) pipeline.take(delivery)
    await new Promise(setImmediate) // their lanes are found
  }
  pipeline.stop()
  await pipeline.idle()
  return { early: await reasonsOf(...early), late: await reasonsOf(...late) }
}

/** A transport by which nothing arrives before the stop. */
function silent(isShared: boolean): Transport {
  return {
    concurrency: 2,
    close() {},
    pool: transport => ({ name: transport ?? '', slots: 2 }),
    route: async destination => ({ lane: destination, isShared, wait: null }),
    deliver: ({ signal }) =>
      new Promise(resolve => {
        if (signal.aborted) resolve(RELEASED)
        signal.addEventListener('abort', () => resolve(RELEASED))
      }),
  }
}

async function claim(of: typeof account, domain: string, count: number): Promise<ClaimedDelivery[]> {
  const email_ids: string[] = []
  for (let n = 0; n < count; n += 50) {
    const to = Array.from({ length: Math.min(50, count - n) }, (_, i) => `p${n + i}@${domain}`)
    email_ids.push(await acceptEmail(world, of, { to }))
  }
  return claimDeliveries(world.pool, { lease_owner: newId(), lease_seconds: 40, limit: count, email_ids })
}

/** The number of deliveries per reason. */
async function reasonsOf(...deliveries: (ClaimedDelivery | undefined)[]): Promise<Record<string, number>> {
  const ids = deliveries.map(delivery => delivery?.id)
  const { rows } = await world.pool.pg.query(
    `SELECT reason, count(*)::integer AS count FROM deliveries WHERE id = ANY($1) AND state = 'queued' GROUP BY reason`,
    [ids],
  )
  return Object.fromEntries(rows.map(({ reason, count }) => [reason, count]))
}
