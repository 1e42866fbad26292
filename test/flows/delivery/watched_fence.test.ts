import t from 'tap'
import { newId } from '#lib/ids.ts'
import { type ClaimedDelivery, claimDeliveries } from '#sql/delivery/deliveries.ts'
import { fenceWatched } from '#sql/delivery/leases.ts'
import { storeAutomation } from '#test/support/automation_runs.ts'
import { addRecipient } from '#test/support/campaign_rows.ts'
import { addContacts, queueCampaign } from '#test/support/campaigns.ts'
import { suppress } from '#test/support/database/states.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { makeTopic } from '#test/support/unsubscribing.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool

type Mail = { account: TestAccount; email_id: string; contact_id: string }
/** Mail to a contact that exists, by the reason for which its fence looks again. */
const KINDS = { campaign: mailOfCampaign, automation: mailOfAutomation, topic: mailOfTopic }
type Kind = keyof typeof KINDS

async function begin(): Promise<[TestAccount, string]> {
  const account = await newAccount(world)
  const [contact_id = ''] = await addContacts(world, account, ['ann@b.com'])
  return [account, contact_id]
}

async function mailOfCampaign(): Promise<Mail> {
  const [account, contact_id] = await begin()
  const { campaign_id } = await queueCampaign(world, account)
  const email = { status: 'queued', state: 'queued' }
  const email_id = await addRecipient(world, account, campaign_id, [contact_id, 'ann@b.com'], { state: 'm', email })
  return { account, email_id: email_id ?? '', contact_id }
}

async function mailOfAutomation(): Promise<Mail> {
  const [account, contact_id] = await begin()
  const automation_id = await storeAutomation(world, account)
  await pg.query('UPDATE automations SET version = 3, stopped_version = 1')
  const email_id = await acceptEmail(world, account, { to: 'ann@b.com' })
  await pg.query('UPDATE emails SET automation_id = $1, contact_id = $2 WHERE id = $3', [
    automation_id,
    contact_id,
    email_id,
  ])
  await pg.query(
    'UPDATE deliveries SET automation_id = $1, automation_version = 2, priority = 10 WHERE email_id = $2',
    [automation_id, email_id],
  )
  return { account, email_id, contact_id }
}

async function mailOfTopic(): Promise<Mail> {
  const [account, contact_id] = await begin()
  const topic_id = await makeTopic(world, account, { name: 'News' })
  return { account, email_id: await acceptEmail(world, account, { to: 'Ann@b.com', topic_id }), contact_id }
}

async function claim(email_id: string): Promise<ClaimedDelivery> {
  const options = { lease_owner: newId(), lease_seconds: 40, limit: 10, email_ids: [email_id] }
  const [claimed, ...others] = await claimDeliveries(world.pool, options)
  if (!claimed || others.length > 0) throw new Error(`${others.length} others were claimed`)
  return claimed
}

const fence = (...tokens: ClaimedDelivery[]) => fenceWatched(world.pool, tokens, 600)

const ALLOWED = { is_allowed: true, suppressed: false, unsubscribed: false, has_left: false, is_stopped: false }
const PAUSED = { ...ALLOWED, is_allowed: false }
const SUPPRESSED = { ...PAUSED, suppressed: true }
const OUTSIDE = { ...PAUSED, unsubscribed: true }
const LEFT = { ...OUTSIDE, has_left: true }
const STOPPED = { ...PAUSED, is_stopped: true }

/** Changes of the account $1 and the contact $2 between the claim and the fence. */
const CHANGES: [kinds: Kind[], expected: typeof ALLOWED, change: string][] = [
  [['campaign', 'automation', 'topic'], ALLOWED, 'SELECT FROM accounts WHERE id = $1'],
  [['campaign', 'automation'], LEFT, 'UPDATE contacts SET unsubscribed = true WHERE account_id = $1'],
  [['topic'], OUTSIDE, 'UPDATE contacts SET unsubscribed = true WHERE account_id = $1'],
  [['campaign', 'automation'], LEFT, 'DELETE FROM contacts WHERE account_id = $1'],
  [
    ['topic'],
    OUTSIDE,
    `INSERT INTO contact_topics (account_id, contact_id, topic_id, subscription)
     SELECT $1, c.id, t.id, 'opt_out' FROM contacts c JOIN topics t ON t.account_id = c.account_id WHERE c.account_id = $1`,
  ],
  [['automation'], STOPPED, 'DELETE FROM automations WHERE account_id = $1'],
  [['automation'], ALLOWED, 'UPDATE automations SET stopped_version = 0 WHERE account_id = $1'],
  [['automation'], STOPPED, 'UPDATE automations SET stopped_version = 2 WHERE account_id = $1'],
  ...['paused', 'canceled', 'failed'].map((status): (typeof CHANGES)[number] => [
    ['campaign'],
    PAUSED,
    `UPDATE campaigns SET status = '${status}' WHERE account_id = $1`,
  ]),
  [['campaign'], ALLOWED, `UPDATE campaigns SET status = 'testing' WHERE account_id = $1`],
  [['campaign', 'automation', 'topic'], PAUSED, 'UPDATE accounts SET paused_at = now() WHERE id = $1'],
  [['campaign', 'automation', 'topic'], PAUSED, 'UPDATE domains SET paused_at = now() WHERE account_id = $1'],
]

t.test('the fence of watched mail says why it may no longer be sent', async t => {
  for (const [kinds, expected, change] of CHANGES) {
    for (const kind of kinds) {
      const { account, email_id } = await KINDS[kind]()
      const claimed = await claim(email_id)
      t.equal(claimed.is_watched, true)
      await pg.query(change, [account.id])
      const { account_id, id, attempt, lease_owner } = claimed
      const result = await fence(claimed)
      t.strictSame(result, [{ account_id, id, attempt, lease_owner, ...expected }], `${kind}: ${change}`)
      const { rows } = await pg.query(
        `SELECT state, phase, lease_until > now() + interval '1 minute' AS is_long FROM deliveries WHERE id = $1`,
        [id],
      )
      const { is_allowed } = expected
      t.strictSame(rows, [{ state: 'sending', phase: is_allowed ? 'dot' : 'pre', is_long: is_allowed }])
    }
  }
})

t.test('the fence of watched mail respects the suppression list until an entry expires', async t => {
  for (const [until, expected] of [
    [undefined, SUPPRESSED],
    ['2999-01-01', SUPPRESSED],
    ['2020-01-01', ALLOWED],
  ] as const) {
    const { account, email_id } = await mailOfTopic()
    const claimed = await claim(email_id)
    await suppress(world, account.id, 'ann@b.com', until)
    shows(t, await fence(claimed), [expected], until)
  }
})

t.test('the fence of watched mail is closed while the platform is paused', async t => {
  const claimed = await claim((await mailOfTopic()).email_id)
  await pg.query('UPDATE platform SET paused_at = now()')
  shows(t, await fence(claimed), [PAUSED])
  await pg.query('UPDATE platform SET paused_at = NULL')
  shows(t, await fence(claimed), [ALLOWED])
})

t.test('a watched fence passes once, and only with the token and the lease of its claim', async t => {
  const claimed = await claim((await mailOfTopic()).email_id)
  const others = [{ attempt: 0 }, { attempt: 2 }, { lease_owner: newId() }, { account_id: newId() }, { id: newId() }]
  for (const other of others) t.strictSame(await fence({ ...claimed, ...other }), [])
  await pg.query(`UPDATE deliveries SET lease_until = now() - interval '1 ms' WHERE id = $1`, [claimed.id])
  t.strictSame(await fence(claimed), [], 'its lease has expired')
  await pg.query(`UPDATE deliveries SET lease_until = now() + interval '1 minute' WHERE id = $1`, [claimed.id])
  shows(t, await fence(claimed), [ALLOWED])
  t.strictSame(await fence(claimed), [], 'it has passed')
})
