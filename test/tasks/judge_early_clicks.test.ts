import t from 'tap'
import { newId } from '#lib/ids.ts'
import { claimDeliveries, type DeliveryResult, settleDeliveries } from '#sql/delivery/deliveries.ts'
import { fenceDeliveries } from '#sql/delivery/leases.ts'
import { recordHits } from '#sql/tracking/hits.ts'
import { judge_early_clicks } from '#tasks/judge_early_clicks.ts'
import { storeAutomation, waitFor } from '#test/support/automation_runs.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { makeCampaign, makeHit, makeTracked, readFigures, readHits, type TrackedEmail } from '#test/support/tracking.ts'
import { readWebhookEvents } from '#test/support/unsubscribing.ts'
import { insertUnchecked } from '#test/support/webhooks/announced_events.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool
const work = openWork(t, world)

t.test('clicks recorded before the result of the delivery are judged by the time of the reply', async t => {
  const account = await newAccount(world)
  await insertUnchecked(world, account.id, 'https://hooks.acme.com/x')
  const campaign = await makeCampaign(world, account)
  for (const outcome of ['delivered', 'in_doubt'] as const) {
    const email = await makeTracked(world, account, { campaign, delivered_ago: null, links: 20 })
    const settle = await claim(email)
    const [suspect, scanner] = ['mimecast_network', { ip: '198.51.100.9' }]
    await recordHits(world.pool, [
      makeHit(email, 0, -62_000, scanner),
      makeHit(email, null, -30_000),
      makeHit(email, 1, -29_000),
      ...[2, 3, 4].map(link => makeHit(email, link, -16_000 + link, scanner)),
      makeHit(email, 5, -5_000, { suspect }),
    ])
    t.strictSame(await readFigures(world, campaign), { machine_clicked: 1, machine_opened: 1 })
    await settle({ outcome, age: 60, reason: 'No reply.', delay: 900 })
    const payload = { deliveries: [{ account_id: account.id, id: email.delivery_id }] }
    t.strictSame(await takeJobs(account), [payload])
    await judge_early_clicks(payload, work)
    await judge_early_clicks(payload, work) // a job may run twice
    t.strictSame(
      (await readHits(world, email)).map(hit => `${hit.type} ${hit.link} ${hit.class} ${hit.rule}`),
      [
        ...['click 0 machine early', 'open null human default', 'click 1 human default', 'click 2 machine burst'],
        ...['click 3 machine burst', 'click 4 machine burst', `click 5 machine ${suspect}`],
      ],
    )
    shows(t, await readFigures(world, campaign), { clicked: 1, unique_clicked: 1, opened: 1, unique_opened: 1 })
    const recipient = await readRow('SELECT * FROM campaign_recipients WHERE email_id = $1', email.email_id)
    shows(t, recipient, { clicks: 1, opens: 1, machine_clicks: 5, machine_opens: 0 })
    shows(t, await readRow('SELECT last_event FROM emails WHERE id = $1', email.email_id), { last_event: 'clicked' })
    const told = (await readWebhookEvents(world, account)) as { type: string; data: { click?: { class: string } } }[]
    t.equal(told.filter(({ type, data }) => type === 'email.clicked' && data.click?.class === 'human').length, 1)
    await pg.query('DELETE FROM webhook_events WHERE account_id = $1', [account.id])
    // So that the next one is counted alone.
    await pg.query('DELETE FROM campaign_counts WHERE campaign_id = $1', [campaign.id])
  }
})

t.test('a result without earlier clicks queues nothing', async t => {
  const account = await newAccount(world)
  const [unclicked, early] = [
    await makeTracked(world, account, { delivered_ago: null }),
    await makeTracked(world, account, { delivered_ago: null }),
  ]
  const settle = [await claim(unclicked), await claim(early)]
  await recordHits(world.pool, [makeHit(early, 0, -59_000)])
  for (const each of settle) await each({ outcome: 'delivered', age: 60 })
  t.strictSame(await takeJobs(account), [])
  shows(t, await readHits(world, early), [{ class: 'machine', rule: 'early' }])
})

t.test('automations hear of a late delivery before its clicks', async t => {
  const account = await newAccount(world)
  const to = `p${newId().slice(-12)}@b.com`
  await addContacts(world, account, [to])
  await storeAutomation(world, account, [waitFor('email.clicked')], { trigger: 'email.delivered' })
  const email = await makeTracked(world, account, { delivered_ago: null, to })
  const settle = await claim(email)
  await recordHits(world.pool, [makeHit(email, 0, -29_000)])
  await settle({ outcome: 'delivered', age: 60 })
  for (const payload of await takeJobs(account)) await judge_early_clicks(payload, work)
  const { rows } = await pg.query('SELECT name FROM contact_events WHERE account_id = $1 ORDER BY id', [account.id])
  t.strictSame(
    rows.map(({ name }) => name),
    ['email.delivered', 'email.clicked'],
  )
})

t.test('a late result counts from the time of the reply for the email, its recipient and the contact', async t => {
  const account = await newAccount(world)
  const campaign = await makeCampaign(world, account)
  const email = await makeTracked(world, account, { campaign, delivered_ago: null })
  await pg.query('UPDATE deliveries SET campaign_id = $2 WHERE id = $1', [email.delivery_id, campaign.id])
  await pg.query('UPDATE campaign_recipients SET sent_at = NULL WHERE email_id = $1', [email.email_id])
  const settle = await claim(email)
  await settle({ outcome: 'delivered', age: 60 })
  const times = await readRow(
    `SELECT r.sent_at = e.sent_at AS recipient, g.last_sent_at = e.sent_at AS contact, now() - e.sent_at > interval '1 minute' AS late
     FROM emails e JOIN campaign_recipients r ON r.email_id = e.id JOIN contact_engagement g ON g.contact_id = r.contact_id
     WHERE e.id = $1`,
    email.email_id,
  )
  t.strictSame(times, { recipient: true, contact: true, late: true })
})

/** Claims the email's delivery two hours after its last change. Returns a function that settles it. */
async function claim({ email_id }: TrackedEmail): Promise<(result: DeliveryResult) => Promise<unknown>> {
  const lease = { lease_owner: newId(), lease_seconds: 40, limit: 1, email_ids: [email_id] }
  const [token] = await claimDeliveries(world.pool, lease)
  if (!token) throw new Error('nothing was claimed')
  await fenceDeliveries(world.pool, [token], 40)
  await pg.query(`UPDATE deliveries SET updated_at = now() - interval '2 hours' WHERE email_id = $1`, [email_id])
  return result => settleDeliveries(world.pool, [{ ...token, ...result }])
}

/** Takes the queued jobs of the account. */
async function takeJobs({ id }: TestAccount) {
  const { rows } = await pg.query(
    `DELETE FROM graphile_worker._private_jobs j USING graphile_worker._private_tasks k
     WHERE k.id = j.task_id AND k.identifier = 'judge_early_clicks' AND j.payload -> 'deliveries' -> 0 ->> 'account_id' = $1
     RETURNING j.payload`,
    [id],
  )
  return rows.map(({ payload }) => payload)
}

async function readRow(statement: string, id: string) {
  return (await pg.query(statement, [id])).rows[0]
}
