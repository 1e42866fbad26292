import t from 'tap'
import { continueCampaign, suspendCampaign } from '#flows/campaigns/stop_campaign.ts'
import type { Bounce } from '#lib/delivery/bounce_details.ts'
import { newId } from '#lib/ids.ts'
import { insertUnsubscribedEvent } from '#sql/contacts/preferences/choices.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DeliveryResult,
  settleDeliveries,
} from '#sql/delivery/deliveries.ts'
import { addRecipient } from '#test/support/campaign_rows.ts'
import { addContacts, queueCampaign } from '#test/support/campaigns.ts'
import { ageEmail, endLeases, makeDue } from '#test/support/database/states.ts'
import { acceptEmail, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const account = await newAccount(world)
const query = (text: string, values: unknown[]) => pool.pg.query(text, values).then(({ rows }) => rows)

/** Claims all due deliveries of an email, in the order of recipients. */
async function claim(email_id: string): Promise<ClaimedDelivery[]> {
  const options = { lease_owner: newId(), lease_seconds: 40, limit: 100, email_ids: [email_id] }
  const claimed = await claimDeliveries(pool, options)
  return claimed.sort((a, b) => (a.recipient < b.recipient ? -1 : 1))
}

/** Settles deliveries in one statement; without a result, a delivery is left as it is. */
async function settle(claimed: ClaimedDelivery[], ...results: (DeliveryResult | null)[]): Promise<void> {
  const all = claimed.map((delivery, n) => ({ delivery, result: results[n] ?? null }))
  await settleDeliveries(
    pool,
    all.flatMap(({ delivery, result }) => (result ? [{ ...delivery, ...result }] : [])),
  )
}

const statesOf = (email_id: string) =>
  query('SELECT recipient, state FROM deliveries WHERE email_id = $1 ORDER BY recipient', [email_id])

const DOUBT = { outcome: 'in_doubt', reason: 'No reply.', delay: 900, hold: false } as const
const LATER = { outcome: 'deferred', reason: 'Busy.', delay: 60 } as const
const [DELIVERED, COMPLAINED] = [{ outcome: 'delivered' }, { outcome: 'complained' }] as const

t.test('mail in doubt has arrived for the recipient who unsubscribes by it, and for no other', async t => {
  const id = await acceptEmail(world, account, { to: ['ann@y.com', 'bob@y.com'] })
  const doubted = await claim(id)
  await settle(doubted, DOUBT, DOUBT)
  const event = { address: 'ann@y.com', contact_id: null, topic_id: null }
  await pool.transaction(tx => insertUnsubscribedEvent(tx, { account_id: account.id, email_id: id }, event))
  await settle(doubted, { outcome: 'resumed' }, { outcome: 'resumed' })
  await settle(await claim(id), { outcome: 'suppressed' }, { outcome: 'suppressed' })
  t.strictSame(await statesOf(id), [
    { recipient: 'ann@y.com', state: 'delivered' },
    { recipient: 'bob@y.com', state: 'suppressed' },
  ])
})

t.test('mail of a stopped campaign is canceled when it comes back, and stays in doubt if it is', async t => {
  const [contact = ''] = await addContacts(world, account, ['ann@b.com'])
  for (const [status, ...expected] of [
    ['paused', 'queued', 'queued', 'queued', 'queued'],
    ['canceled', 'canceled', 'canceled', 'canceled', 'in_doubt'],
    ['failed', 'canceled', 'canceled', 'canceled', 'in_doubt'],
  ] as const) {
    for (const [n, outcome] of (['released', 'deferred', 'lost', 'resumed'] as const).entries()) {
      const { campaign_id } = await queueCampaign(world, account)
      const email = { status: 'queued', state: 'queued' }
      const recipient = await addRecipient(world, account, campaign_id, [contact, 'ann@b.com'], { state: 'm', email })
      const id = recipient as string
      await query('UPDATE emails SET quota_debit = 1 WHERE id = $1', [id])
      const claimed = await claim(id)
      if (outcome === 'resumed') await settle(claimed, DOUBT)
      if (outcome === 'lost') await endLeases(world, [id])
      await query('UPDATE campaigns SET status = $2 WHERE id = $1', [campaign_id, status])
      await settle(claimed, { outcome, reason: 'x', delay: 60 })
      const state = expected[n]
      t.strictSame(await statesOf(id), [{ recipient: 'ann@b.com', state }], `${status} ${outcome}`)
      const quota_debit = state === 'canceled' ? 0 : 1
      t.strictSame(await query('SELECT quota_debit FROM emails WHERE id = $1', [id]), [{ quota_debit }])
    }
  }
})

t.test('the 72 hours of a scheduled email begin at its time', async t => {
  for (const [hours, state] of [
    [71, 'queued'],
    [73, 'failed'],
  ] as const) {
    const id = await acceptEmail(world, account)
    await ageEmail(world, id, 200)
    await query('UPDATE emails SET scheduled_at = now() - make_interval(hours => $2) WHERE id = $1', [id, hours])
    await settle(await claim(id), LATER)
    t.strictSame(await statesOf(id), [{ recipient: 'x@y.com', state }])
  }
})

t.test('the 72 hours of a paused campaign begin again when it is resumed', async t => {
  const someone = await newAccount(world)
  const [contact = ''] = await addContacts(world, someone, ['ann@b.com'])
  const { campaign_id } = await queueCampaign(world, someone)
  const email = { status: 'queued', state: 'queued' }
  const recipient = await addRecipient(world, someone, campaign_id, [contact, 'ann@b.com'], { state: 'm', email })
  const id = recipient as string
  await ageEmail(world, id, 100)
  const campaign = { account_id: someone.id, id: campaign_id }
  await suspendCampaign(pool, campaign)
  await continueCampaign(pool, campaign)
  await settle(await claim(id), LATER)
  t.strictSame(await statesOf(id), [{ recipient: 'ann@b.com', state: 'queued' }])
  await makeDue(world, id)
  await query(`UPDATE deliveries SET resumed_at = now() - interval '73 hours' WHERE email_id = $1`, [id])
  await settle(await claim(id), LATER)
  t.strictSame(await statesOf(id), [{ recipient: 'ann@b.com', state: 'failed' }])
})

t.test('a contact was last sent mail at the latest of its deliveries, in whatever order they are stored', async t => {
  const someone = await newAccount(world)
  const [contact = ''] = await addContacts(world, someone, ['ann@b.com'])
  const claimed: ClaimedDelivery[] = []
  for (let n = 0; n < 2; n++) {
    const { campaign_id } = await queueCampaign(world, someone)
    const email = { status: 'queued', state: 'queued' }
    const id = await addRecipient(world, someone, campaign_id, [contact, 'ann@b.com'], { state: 'm', email })
    claimed.push(...(await claim(id as string)))
  }
  const read = 'SELECT sent_count, last_sent_at FROM contact_engagement WHERE account_id = $1'
  await settle(claimed.slice(0, 1), DELIVERED)
  const [first] = await query(read, [someone.id])
  await settle(claimed.slice(1), { ...DELIVERED, age: 60 })
  t.strictSame(await query(read, [someone.id]), [{ ...first, sent_count: 2 }])
})

t.test('mail in doubt that is sent again without a person gets no further 72 hours', async t => {
  const id = await acceptEmail(world, account)
  const doubted = await claim(id)
  await settle(doubted, DOUBT)
  await ageEmail(world, id, 73)
  await settle(doubted, { outcome: 'resumed' })
  await settle(await claim(id), LATER)
  t.strictSame(await statesOf(id), [{ recipient: 'x@y.com', state: 'failed' }])
})

t.test('an event has the reason and the reply of its own attempt', async t => {
  const id = await acceptEmail(world, account)
  const bounce: Bounce = { type: 'Transient', subType: 'General', message: '451 x', diagnosticCode: [] }
  const refused = { class: 'transient', reply: '451 x', bounce } as const
  await settle(await claim(id), { ...LATER, ...refused })
  await makeDue(world, id)
  await settle(await claim(id), { ...LATER, reason: 'The server cannot be reached.' })
  const kept = 'SELECT reason, last_reply FROM deliveries WHERE email_id = $1'
  t.strictSame(await query(kept, [id]), [{ reason: 'The server cannot be reached.', last_reply: '451 x' }])
  await makeDue(world, id)
  await settle(await claim(id), { outcome: 'delivered', reply: '250 ok', via: 'relay' })
  t.strictSame(await query(kept, [id]), [{ reason: null, last_reply: '250 ok' }])
  t.strictSame(await query('SELECT type, data FROM email_events WHERE email_id = $1 ORDER BY id', [id]), [
    { type: 'delivery_delayed', data: { reason: 'Busy.', reply: '451 x', class: 'transient' } },
    { type: 'delivery_delayed', data: { reason: 'The server cannot be reached.' } },
    { type: 'delivered', data: { reply: '250 ok', via: 'relay' } },
  ])
})

const [BOUNCED, FAILED] = [{ outcome: 'bounced' }, { outcome: 'failed' }] as const
const [SUPPRESSED, RELEASED] = [{ outcome: 'suppressed' }, { outcome: 'released', delay: 60 }] as const

/** Results of ann and bob, in one statement, and what the email shows then. */
const STATUSES: [DeliveryResult | null, DeliveryResult | null, status: string, last_event: string][] = [
  [DELIVERED, null, 'queued', 'delivered'],
  [DELIVERED, RELEASED, 'queued', 'delivered'],
  [RELEASED, RELEASED, 'queued', 'queued'],
  [DELIVERED, LATER, 'delivery_delayed', 'delivery_delayed'],
  [DELIVERED, DOUBT, 'sent', 'sent'],
  [BOUNCED, DOUBT, 'sent', 'sent'],
  [FAILED, BOUNCED, 'bounced', 'bounced'],
  [BOUNCED, FAILED, 'bounced', 'failed'],
  [FAILED, COMPLAINED, 'failed', 'complained'],
  [COMPLAINED, DELIVERED, 'complained', 'complained'],
  [DELIVERED, SUPPRESSED, 'delivered', 'suppressed'],
  [SUPPRESSED, { outcome: 'canceled' }, 'suppressed', 'canceled'],
]

t.test('an email shows the status and the last event of its recipients', async t => {
  for (const [ann, bob, status, last_event] of STATUSES) {
    const id = await acceptEmail(world, account, { to: ['ann@y.com', 'bob@y.com'] })
    await settle(await claim(id), ann, bob)
    shows(t, await readEmail(world, account, id), { status, last_event }, `${ann?.outcome} ${bob?.outcome}`)
  }
})

t.test('an email shows that a recipient is tried again, and when the first one got it', async t => {
  const id = await acceptEmail(world, account, { to: ['ann@y.com', 'bob@y.com', 'cat@y.com'] })
  const [ann, bob, cat] = (await claim(id)) as [ClaimedDelivery, ClaimedDelivery, ClaimedDelivery]
  await settle([ann], LATER)
  await query('UPDATE deliveries SET next_at = now() WHERE id = $1', [ann.id])
  const again = await claim(id)
  await settle([bob], { ...DELIVERED, age: 0 })
  shows(t, await readEmail(world, account, id), { status: 'queued' }, 'cat has not been tried')
  const { sent_at } = await readEmail(world, account, id)
  await settle([cat], DELIVERED)
  shows(t, await readEmail(world, account, id), { status: 'delivery_delayed', sent_at })
  await settle(again, DELIVERED)
  shows(t, await readEmail(world, account, id), { status: 'delivered', sent_at })
})
