import t from 'tap'
import {
  addContacts,
  figuresOf,
  queueCampaign,
  readCampaign,
  recipientsOf,
  sendUntil,
} from '#test/support/campaigns.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)

t.test('a campaign reaches each of 20 contacts once', async t => {
  const account = await newAccount(world)
  const work = openWork(t, world, 'capture')
  const people = Array.from({ length: 20 }, (_, n) => ({ email: `p${n}@d${n % 3}.com`, first_name: `Ann ${n}` }))
  await addContacts(world, account, people)
  const campaign = await queueCampaign(world, account, { subject: 'Hi {{first_name}}' })

  await sendUntil(work, campaign)

  shows(t, await readCampaign(world, campaign), { status: 'sent', recipients_count: 20, sent_at: Date })
  const { rows } = await world.pool.pg.query(
    `SELECT d.recipient, e.subject, d.priority, d.state FROM deliveries d JOIN emails e ON e.id = d.email_id
     WHERE d.campaign_id = $1 ORDER BY e.subject COLLATE "C"`,
    [campaign.campaign_id],
  )
  const sent = people.map(({ email, first_name }) => ({
    ...{ recipient: email, subject: `Hi ${first_name}`, priority: 10, state: 'delivered' },
  }))
  t.strictSame(
    rows,
    sent.sort((a, b) => (a.subject < b.subject ? -1 : 1)),
  )
  t.ok((await recipientsOf(world, campaign)).every(({ state }) => state === 'm'))
  shows(t, await figuresOf(world, campaign), { recipients: 20 })
})
