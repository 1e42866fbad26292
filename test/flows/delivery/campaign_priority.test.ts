import t from 'tap'
import type { Transport } from '#lib/delivery/transport.ts'
import { newId } from '#lib/ids.ts'
import { claimDeliveries } from '#sql/delivery/deliveries.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import { addContacts, queueCampaign } from '#test/support/campaigns.ts'
import { openPipeline } from '#test/support/pipeline.ts'
import { acceptEmail, openWork } from '#test/support/sending.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { MAIL_TRANSPORT: 'capture' })
const COUNT = 10

/** Claims the mail of a campaign, and of as many others. They go to these destinations in turn. */
async function claimBoth(count: number, destinations: string[]) {
  const addressOf = (n: number) => `p${n}@${destinations[n % destinations.length]}`
  const account = await newAccount(world)
  await addContacts(
    world,
    account,
    Array.from({ length: count }, (_, n) => addressOf(n)),
  )
  await send_campaign(await queueCampaign(world, account), openWork(t, world, 'capture'))
  const claim = () => claimDeliveries(world.pool, { lease_owner: newId(), lease_seconds: 40, limit: 100 })
  const of_campaign = await claim()
  for (let n = 0; n < count; n++) await acceptEmail(world, account, { to: `other-${addressOf(n)}` })
  return { of_campaign, others: await claim() }
}

t.test('a destination full of campaign mail is busy only for campaign mail', async t => {
  const { of_campaign, others } = await claimBoth(COUNT, ['b.com'])
  t.equal(of_campaign.length, COUNT)
  t.equal(others.length, COUNT)

  const pipeline = openPipeline(world)
  for (const delivery of of_campaign) pipeline.take(delivery)
  t.strictSame(pipeline.busy(COUNT), { busy_destinations: [], bulk_busy: ['b.com'] })
  for (const delivery of others) pipeline.take(delivery)
  t.strictSame(pipeline.busy(COUNT), { busy_destinations: ['b.com'], bulk_busy: ['b.com'] })
  await pipeline.idle()
  t.strictSame(pipeline.busy(1), { busy_destinations: [], bulk_busy: [] })
})

t.test('other mail is sent before campaign mail that is composed already', async t => {
  const { of_campaign, others } = await claimBoth(80, ['b.com', 'c.com'])
  const gate = Promise.withResolvers<void>()
  const [composed, sent]: [string[], string[]] = [[], []]
  const transport: Transport = {
    concurrency: 1,
    close() {},
    async deliver({ recipient, fence }) {
      sent.push(recipient)
      await gate.promise
      return (await fence())
        ? { outcome: 'delivered', reply: '250 OK', via: 'b.com' }
        : { outcome: 'released', reason: '' }
    },
  }
  const pipeline = openPipeline(world, { transport, onCompose: recipient => composed.push(recipient) })
  for (const delivery of of_campaign) pipeline.take(delivery)
  await waitUntil(() => composed.length > 50, 'campaign mail is composed ahead')
  const [other] = others
  if (!other) throw new Error('nothing was claimed')
  pipeline.take(other)
  await waitUntil(() => composed.includes(other.recipient), 'the other email is composed')
  gate.resolve()
  await pipeline.idle()
  t.equal(sent[1], other.recipient)
  t.equal(sent.length, 81)
})
