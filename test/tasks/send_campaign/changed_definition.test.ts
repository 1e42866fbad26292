import t, { type Test } from 'tap'
import { findRecipients } from '#flows/campaigns/sending/find_recipients.ts'
import { lockRun, type Run } from '#sql/campaigns/sending/runs.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import { startApi } from '#test/support/api.ts'
import { addContacts, figuresOf, queueCampaign, readCampaign, recipientsOf } from '#test/support/campaigns.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const work = openWork(t, world, 'capture')

/** A campaign to a segment, four of whose eight contacts have been looked at. */
async function begin(t: Test) {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  await addContacts(
    world,
    account,
    ['one', 'two', 'one', 'two', 'one', 'two', 'one', 'two'].map((name, n) => ({
      ...{ email: `${name}${n}@b.com`, unsubscribed: n === 3 },
    })),
  )
  await api.request('POST', '/api/suppressions', { body: { email: 'one0@b.com' } })
  const change = (path: string, body: object) => api.request('PATCH', `/api/${path}`, { body })
  const named = { name: 'Ones', domain: account.domain, filter: { email_contains: 'one' } }
  const { body: segment } = await api.request('POST', '/api/segments', { body: named })
  const campaign = await queueCampaign(world, account, { segment_id: segment.id })
  const look = () =>
    world.pool.transaction(async tx =>
      findRecipients(tx, (await lockRun(tx, campaign)) as Run, 'simulator.internal', 2),
    )
  await look()
  await look()
  return { campaign, segment, change, look }
}

const addresses = async (campaign: Parameters<typeof recipientsOf>[1]) =>
  (await recipientsOf(world, campaign)).map(({ email, reason }: { email: string; reason: string | null }) =>
    reason === null ? email : `${email} ${reason}`,
  )

t.test('a segment that is changed while recipients are found applies to all of them as it is then', async t => {
  const { campaign, segment, change } = await begin(t)
  t.strictSame(await addresses(campaign), ['one0@b.com suppressed', 'one2@b.com'])
  shows(t, await change(`segments/${segment.id}`, { filter: { email_contains: 'two' } }), { status: 200 })
  await send_campaign(campaign, work)
  t.strictSame(await addresses(campaign), ['two1@b.com', 'two5@b.com', 'two7@b.com'])
  shows(t, await figuresOf(world, campaign), { recipients: 3 })
  t.equal((await figuresOf(world, campaign)).excluded, undefined)
  shows(t, await readCampaign(world, campaign), { recipients_count: 3 })

  const other = await begin(t)
  await other.change(`segments/${other.segment.id}`, { filter: { email_contains: 'two' } })
  await other.look()
  await other.change(`segments/${other.segment.id}`, { filter: { email_contains: 'one' } })
  await send_campaign(other.campaign, work)
  const ones = ['one0@b.com suppressed', 'one2@b.com', 'one4@b.com', 'one6@b.com']
  t.strictSame(await addresses(other.campaign), ones, 'a change that is taken back leaves no gap')
  shows(t, await figuresOf(world, other.campaign), { recipients: 4, excluded: 1 })
})

t.test('another name of the segment changes nothing', async t => {
  const { campaign, segment, change, look } = await begin(t)
  await change(`segments/${segment.id}`, { name: 'Only ones' })
  await look()
  t.equal((await addresses(campaign)).length, 3)
})
