import t from 'tap'
import { DeliveryStore } from '#flows/delivery/fence_and_settle.ts'
import { Pipeline } from '#flows/delivery/pipeline.ts'
import { createPlayRecipient } from '#flows/delivery/play_recipient.ts'
import { createFetchFiles } from '#flows/delivery/prepare/fetch_attachments.ts'
import { createPrepareMessage } from '#flows/delivery/prepare/prepare_message.ts'
import { createTransport } from '#flows/delivery/transports.ts'
import { createBlobs } from '#flows/files/blobs.ts'
import { newId } from '#lib/ids.ts'
import { claimDeliveries } from '#sql/delivery/deliveries.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import { addContacts, queueCampaign } from '#test/support/campaigns.ts'
import { acceptEmail, openWork } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { MAIL_TRANSPORT: 'capture' })
const COUNT = 10

function openPipeline(): Pipeline {
  const { pool, log } = world
  const blobs = createBlobs(world)
  const fetchFiles = createFetchFiles({ ...world, blobs, signal: new AbortController().signal })
  const prepareMessage = createPrepareMessage({ ...world, fetchFiles, readBlob: blobs.read, keys_ms: 1_000 })
  const playRecipient = createPlayRecipient({ ...world, prepareMessage })
  const transport = createTransport({ ...world, config: world.config })
  const store = new DeliveryStore(pool, log, { lease_seconds: 40, slots: 40 })
  return new Pipeline({ ...world, transport, store, prepareMessage, playRecipient, onRoom: () => {} })
}

t.test('a destination full of campaign mail is busy only for campaign mail', async t => {
  const account = await newAccount(world)
  await addContacts(
    world,
    account,
    Array.from({ length: COUNT }, (_, n) => `p${n}@b.com`),
  )
  await send_campaign(await queueCampaign(world, account), openWork(t, world, 'capture'))
  const claim = () => claimDeliveries(world.pool, { lease_owner: newId(), lease_seconds: 40, limit: 100 })
  const of_campaign = await claim()
  for (let n = 0; n < COUNT; n++) await acceptEmail(world, account, { to: `q${n}@b.com` })
  const others = await claim()
  t.equal(of_campaign.length, COUNT)
  t.equal(others.length, COUNT)

  const pipeline = openPipeline()
  for (const delivery of of_campaign) pipeline.take(delivery)
  t.strictSame(pipeline.busy(COUNT), { busy_destinations: [], bulk_busy: ['b.com'] })
  for (const delivery of others) pipeline.take(delivery)
  t.strictSame(pipeline.busy(COUNT), { busy_destinations: ['b.com'], bulk_busy: ['b.com'] })
  await pipeline.idle()
  t.strictSame(pipeline.busy(1), { busy_destinations: [], bulk_busy: [] })
})
