import t, { type Test } from 'tap'
import type { Bounce } from '#lib/delivery/bounce_details.ts'
import { newId } from '#lib/ids.ts'
import { claimDeliveries, type DeliveryResult, settleDeliveries } from '#sql/delivery/deliveries.ts'
import { applyReportedOutcome } from '#sql/receiving/reports.ts'
import type { Work } from '#tasks/task.ts'
import { unsubscribe_unreachable } from '#tasks/unsubscribe_unreachable.ts'
import { addRecipient } from '#test/support/campaign_rows.ts'
import { addContacts, queueCampaign, sendUntil } from '#test/support/campaigns.ts'
import { ageEmail } from '#test/support/database/states.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { subscribe, takeEvents } from '#test/support/webhooks/webhook_events.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool

/** An account with one contact, whose server rejects messages on request. */
async function openAccount(t: Test) {
  const account = await newAccount(world)
  const [contact = ''] = await addContacts(world, account, [{ email: 'ann@y.com' }])
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  const send = async () => {
    const campaign = await queueCampaign(world, account)
    await sendUntil(work, campaign)
    return campaign
  }
  const bounce = async (reply = '5.2.2 Mailbox full') => {
    inbox.refuse(552, reply, 'data')
    await send()
    inbox.accept()
  }
  return { account, contact, work, send, bounce, days: (days: number) => passDays(account, days) }
}

/** Makes the first bounce in the row this many days older. */
async function passDays({ id }: TestAccount, days: number): Promise<void> {
  await pg.query(
    'UPDATE contact_engagement SET soft_bounces_since = soft_bounces_since - make_interval(days => $2) WHERE account_id = $1',
    [id, days],
  )
}

const bouncesOf = async ({ id }: TestAccount) =>
  (await pg.query('SELECT soft_bounces FROM contact_engagement WHERE account_id = $1', [id])).rows[0]?.soft_bounces

/** Runs the jobs of the account; returns how many there were. */
async function runJobs(work: Work, { id }: TestAccount): Promise<number> {
  const { rows } = await pg.query(
    `DELETE FROM graphile_worker._private_jobs j USING graphile_worker._private_tasks k
     WHERE k.id = j.task_id AND k.identifier = 'unsubscribe_unreachable' AND j.payload -> 'contacts' -> 0 ->> 'account_id' = $1
     RETURNING j.payload`,
    [id],
  )
  for (const { payload } of rows) await unsubscribe_unreachable(payload, work)
  return rows.length
}

async function readConsents({ id }: TestAccount) {
  const query = `SELECT k.topic_id, k.subscription, k.how, c.unsubscribed FROM contacts c
    LEFT JOIN contact_consents k ON k.account_id = c.account_id WHERE c.account_id = $1`
  return (await pg.query(query, [id])).rows
}

t.test('a contact is unsubscribed after five soft bounces in 15 days', async t => {
  const { account, contact, work, bounce, days } = await openAccount(t)
  await subscribe(world, account.id, ['contact.updated'])
  for (let n = 0; n < 4; n++) await bounce()
  await days(16)
  t.equal(await runJobs(work, account), 0, 'four are not enough')
  await bounce()
  t.equal(await bouncesOf(account), 5)
  t.equal(await runJobs(work, account), 1)
  const consents = [{ topic_id: null, subscription: 'opt_out', how: 'soft_bounces', unsubscribed: true }]
  shows(t, await readConsents(account), consents)
  await unsubscribe_unreachable({ contacts: [{ account_id: account.id, id: contact }] }, work)
  shows(t, await readConsents(account), consents, 'a job that runs twice changes nothing')
  shows(t, await takeEvents(world, account.id), [
    { type: 'contact.updated', data: { id: contact, unsubscribed: true } },
  ])
})

t.test('five soft bounces within less than 15 days unsubscribe nobody', async t => {
  const { account, work, bounce, days } = await openAccount(t)
  for (let n = 0; n < 6; n++) await bounce()
  await days(14)
  await bounce()
  t.equal(await bouncesOf(account), 7)
  t.equal(await runJobs(work, account), 0)
})

t.test('a delivery ends a row of soft bounces', async t => {
  const { account, work, bounce, send, days } = await openAccount(t)
  for (let n = 0; n < 4; n++) await bounce()
  await days(16)
  await send()
  await bounce()
  t.equal(await bouncesOf(account), 1)
  t.equal(await runJobs(work, account), 0)
})

t.test('rejections of the sender or the content are no soft bounces', async t => {
  const { account, bounce } = await openAccount(t)
  await bounce('5.7.1 Spam message rejected')
  t.equal(await bouncesOf(account), 0)
})

const REPLY = { reply: '5xx x', reason: 'x' }
const FULL: Bounce = { type: 'Permanent', subType: 'MailboxFull', message: '', diagnosticCode: [] }
const RESULTS: [DeliveryResult, soft_bounces: number, hours?: number][] = [
  [{ outcome: 'bounced', class: 'recipient', bounce: FULL, ...REPLY }, 1],
  [{ outcome: 'bounced', class: 'recipient', bounce: { ...FULL, subType: 'NoEmail' }, ...REPLY }, 0],
  [{ outcome: 'failed', class: 'recipient', ...REPLY }, 1],
  [{ outcome: 'failed', class: 'transient', ...REPLY }, 1],
  [{ outcome: 'failed', class: 'transient', reason: 'No connection.' }, 0],
  [{ outcome: 'failed', class: 'infrastructure', ...REPLY }, 0],
  [{ outcome: 'failed', class: 'policy', ...REPLY }, 0],
  [{ outcome: 'failed', class: 'content', ...REPLY }, 0],
  [{ outcome: 'failed', class: 'size', ...REPLY }, 0],
  [{ outcome: 'failed', class: 'sender', ...REPLY }, 0],
  [{ outcome: 'deferred', class: 'transient', delay: 60, ...REPLY }, 0],
  [{ outcome: 'deferred', class: 'transient', delay: 60, ...REPLY }, 1, 73],
  [{ outcome: 'deferred', class: 'infrastructure', delay: 60, reason: 'No connection.' }, 0, 73],
]

t.test('mail that its server refused or deferred for 72 hours because of the recipient is a soft bounce', async t => {
  for (const [result, soft_bounces, hours = 0] of RESULTS) {
    const account = await newAccount(world)
    const [contact = ''] = await addContacts(world, account, ['ann@y.com'])
    const { campaign_id } = await queueCampaign(world, account)
    const email = { status: 'queued', state: 'queued' }
    const id = await addRecipient(world, account, campaign_id, [contact, 'ann@y.com'], { state: 'm', email })
    await ageEmail(world, id as string, hours)
    const options = { lease_owner: newId(), lease_seconds: 40, limit: 1, email_ids: [id as string] }
    const claimed = await claimDeliveries(world.pool, options)
    await settleDeliveries(
      world.pool,
      claimed.map(delivery => ({ ...delivery, ...result })),
    )
    t.equal((await bouncesOf(account)) ?? 0, soft_bounces, `${hours} hours, ${JSON.stringify(result)}`)
  }
})

t.test('bounces reported after the next email was accepted still count in a row', async t => {
  const { account, send, days, work } = await openAccount(t)
  const reportLate = async ({ campaign_id }: { campaign_id: string }) => {
    const query = 'SELECT id AS delivery_id, account_id FROM deliveries WHERE campaign_id = $1'
    const { rows } = await pg.query(query, [campaign_id])
    const report = {
      outcome: 'failed',
      class: 'transient',
      reply: '451 4.4.7 Expired',
      reason: 'Expired.',
      bounce: null,
    } as const
    await world.pool.transaction(tx => applyReportedOutcome(tx, { ...rows[0], ...report, suppression_id: null }))
  }
  // The next email is accepted before the previous one bounces.
  let last = await send()
  for (let n = 0; n < 5; n++) {
    const next = await send()
    await reportLate(last)
    last = next
  }
  t.equal(await bouncesOf(account), 5)
  await days(15)
  await reportLate(last)
  t.equal(await bouncesOf(account), 6)
  t.equal(await runJobs(work, account), 1)
  shows(t, await readConsents(account), [{ how: 'soft_bounces', unsubscribed: true }])

  await send()
  t.equal(await bouncesOf(account), 6, 'who is unsubscribed gets no more')
})

t.test('one job unsubscribes several contacts', async t => {
  const account = await newAccount(world)
  const contacts = await addContacts(world, account, [{ email: 'ann@y.com' }, { email: 'bob@y.com' }])
  await pg.query(
    `INSERT INTO contact_engagement (account_id, contact_id, soft_bounces, soft_bounces_since)
     SELECT $1, id, 5, now() - interval '16 days' FROM unnest($2::uuid[]) AS id`,
    [account.id, contacts],
  )
  const job = { contacts: contacts.map(id => ({ account_id: account.id, id })) }
  await unsubscribe_unreachable(job, openWork(t, world, 'capture'))
  const { rows } = await pg.query('SELECT unsubscribed FROM contacts WHERE account_id = $1', [account.id])
  t.strictSame(rows, [{ unsubscribed: true }, { unsubscribed: true }])
})

t.test('a contact with a delivery since stays subscribed', async t => {
  const { account, contact, work } = await openAccount(t)
  await pg.query('INSERT INTO contact_engagement (account_id, contact_id, soft_bounces) VALUES ($1, $2, 1)', [
    ...[account.id, contact],
  ])
  await unsubscribe_unreachable(
    {
      contacts: [
        { account_id: account.id, id: contact },
        { account_id: account.id, id: newId() },
      ],
    },
    work,
  )
  shows(t, await readConsents(account), [{ how: null, unsubscribed: false }])
})
