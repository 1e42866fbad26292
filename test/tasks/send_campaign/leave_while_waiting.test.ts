import t, { type Test } from 'tap'
import { continueCampaign, suspendCampaign } from '#flows/campaigns/stop_campaign.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import { addContacts, figuresOf, queueCampaign, sendUntil, setStatus } from '#test/support/campaigns.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { makeTopic } from '#test/support/unsubscribing.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

// One connection: the worker claims a second email while the first one waits for its reply.
const world = await openWorld(t, { SEND_CONNECTIONS: '1', BASE_URL: 'https://mail.acme.com' })
const { pool } = world

/** A server that does not reply until the test calls `speak`. */
async function openSilent(t: Test) {
  const account = await newAccount(world)
  const sink = await openSink(t, { silent: true })
  const work = openWork(t, world, sink.url, { timeouts: { connect: 60_000, message: 60_000, dot: 60_000 } })
  const ids = await addContacts(world, account, ['a@b.com', 'c@b.com'])
  return {
    account,
    sink,
    work,
    contacts: new Map([
      ['a@b.com', ids[0]],
      ['c@b.com', ids[1]],
    ]),
  }
}

type Silent = Awaited<ReturnType<typeof openSilent>>

/** Waits until one email has arrived and another waits for the connection; returns the recipient of the latter. */
async function untilOneWaits({ account, sink }: Silent): Promise<string> {
  await sink.arrived(1)
  const count = `SELECT count(*)::int FROM deliveries WHERE account_id = $1 AND state = 'sending'`
  await waitUntil(async () => (await pool.pg.query(count, [account.id])).rows[0].count === 2, 'both are claimed')
  return sink.ledger[0]?.rcpt === 'a@b.com' ? 'c@b.com' : 'a@b.com'
}

async function beginCampaign(t: Test) {
  const silent = await openSilent(t)
  const topic_id = await makeTopic(world, silent.account, { name: 'News' })
  const campaign = await queueCampaign(world, silent.account, { topic_id })
  await send_campaign(campaign, silent.work)
  silent.work.sender.start()
  const address = await untilOneWaits(silent)
  return { ...silent, campaign, topic_id, address, contact: silent.contacts.get(address) as string }
}

async function readDelivery({ id }: { id: string }, address: string) {
  const { rows } = await pool.pg.query(
    'SELECT state, attempt, reason FROM deliveries WHERE account_id = $1 AND recipient = $2',
    [id, address],
  )
  return rows[0]
}

type Begun = Awaited<ReturnType<typeof beginCampaign>>
const left = 'The recipient has unsubscribed.'
const LEAVES: [string, string, (begun: Begun) => [string, unknown[]]][] = [
  ['unsubscribed', left, ({ contact }) => ['UPDATE contacts SET unsubscribed = true WHERE id = $1', [contact]]],
  ['was deleted', left, ({ contact }) => ['DELETE FROM contacts WHERE id = $1', [contact]]],
  [
    'left the topic',
    'The recipient is not subscribed to the topic.',
    ({ account, contact, topic_id }) => [
      `INSERT INTO contact_topics VALUES ($1, $2, $3, 'opt_out')`,
      [account.id, contact, topic_id],
    ],
  ],
  [
    'was suppressed',
    'The address is on the suppression list.',
    ({ account, address }) => [
      `INSERT INTO suppressions (account_id, id, address, reason) VALUES ($1, gen_random_uuid(), $2, 'manual')`,
      [account.id, address],
    ],
  ],
]

for (const [what, reason, change] of LEAVES) {
  t.test(`a contact who ${what} while the email waited for a connection does not get it`, async t => {
    const begun = await beginCampaign(t)
    await pool.pg.query(...change(begun))
    begun.sink.speak()
    await sendUntil(begun.work, begun.campaign)
    t.equal(begun.sink.messages, 1)
    t.strictSame(await readDelivery(begun.account, begun.address), { state: 'suppressed', attempt: 1, reason })
    t.strictSame(await figuresOf(world, begun.campaign), { recipients: 2, sent: 1, delivered: 1, suppressed: 1 })
  })
}

t.test('an email that waits for a connection while its campaign is paused is sent after it resumes', async t => {
  const { account, campaign, sink, work, address } = await beginCampaign(t)
  await suspendCampaign(pool, { account_id: account.id, id: campaign.campaign_id })
  sink.speak()
  await work.sender.idle()
  t.equal(sink.messages, 1)
  shows(t, await readDelivery(account, address), { state: 'queued', attempt: 0 })

  // This also releases deliveries that polls deferred meanwhile.
  await continueCampaign(pool, { account_id: account.id, id: campaign.campaign_id })
  await sendUntil(work, campaign)
  t.equal(sink.messages, 2)
  t.strictSame(await figuresOf(world, campaign), { recipients: 2, sent: 2, delivered: 2 })
})

t.test('an email that waits for a connection while its campaign is canceled is canceled', async t => {
  const { account, campaign, sink, work, address } = await beginCampaign(t)
  await setStatus(world, campaign, 'canceled')
  sink.speak()
  await work.sender.idle()
  t.equal(sink.messages, 1)
  shows(t, await readDelivery(account, address), { state: 'canceled' })
  t.strictSame(await figuresOf(world, campaign), { recipients: 2, sent: 1, delivered: 1, canceled: 1 })
})

for (const table of ['accounts', 'domains', 'platform']) {
  t.test(`an email that waits for a connection is not sent while sending is paused (${table})`, async t => {
    const { account, sink, work, address } = await beginCampaign(t)
    const where = { accounts: 'id = $1', domains: 'account_id = $1', platform: '$1::uuid IS NOT NULL' }[table]
    await pool.pg.query(`UPDATE ${table} SET paused_at = now() WHERE ${where}`, [account.id])
    sink.speak()
    await work.sender.idle()
    t.equal(sink.messages, 1)
    shows(t, await readDelivery(account, address), { state: 'queued', attempt: 0 })
    await pool.pg.query('UPDATE platform SET paused_at = NULL')
  })
}
