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
  shows(t, await recipientsOf(world, campaign), Array(20).fill({ state: 'm' }))
  shows(t, await figuresOf(world, campaign), { recipients: 20 })
})

t.test('a contact who was added after the start of a campaign does not get it', async t => {
  const account = await newAccount(world)
  await addContacts(world, account, ['ann@y.com'])
  const campaign = await queueCampaign(world, account)
  await addContacts(world, account, ['bob@y.com'])
  await sendUntil(openWork(t, world, 'capture'), campaign)
  const recipients = await recipientsOf(world, campaign)
  t.strictSame(
    recipients.map(({ email }) => email),
    ['ann@y.com'],
  )
})

t.test('an email stores only the values that its content uses', async t => {
  const account = await newAccount(world)
  const { pg } = world.pool
  await pg.query(
    `INSERT INTO contact_properties (account_id, id, key, stored_as, type, fallback_value)
     VALUES ($1, gen_random_uuid(), 'city', 'city_1', 'string', '"Rome"'), ($1, gen_random_uuid(), 'age', 'age', 'number', NULL)`,
    [account.id],
  )
  await addContacts(world, account, [
    { email: 'ann@b.com', first_name: 'Ann', properties: { city_1: 'Oslo', age: 7 } },
    { email: 'bob@b.com' },
  ])
  const html = '<p>{{first_name|friend}} {{contact.last_name}} {{city}} {{age}}</p>'
  const campaign = await queueCampaign(world, account, { html, subject: 'Hi {{city}}' })
  await sendUntil(openWork(t, world, 'capture'), campaign)
  const { rows } = await pg.query(
    `SELECT e.subject, c.variables FROM emails e JOIN email_contents c ON c.email_id = e.id
     WHERE e.campaign_id = $1 ORDER BY e."to"`,
    [campaign.campaign_id],
  )
  t.strictSame(rows, [
    { subject: 'Hi Oslo', variables: { first_name: 'Ann', 'contact.last_name': '', city: 'Oslo', age: '7' } },
    { subject: 'Hi Rome', variables: { 'contact.last_name': '', city: 'Rome', age: '' } },
  ])
})

t.test('a long subject is cut between two characters', async t => {
  const account = await newAccount(world)
  const work = openWork(t, world, 'capture')
  const [long, others] = [`a${'😀'.repeat(60)}`, ['one@b.com', 'two@b.com']]
  await addContacts(world, account, [...others, { email: 'long@b.com', first_name: long }])
  const campaign = await queueCampaign(world, account, { subject: '{{first_name}}'.repeat(9) })
  await sendUntil(work, campaign)
  shows(t, await figuresOf(world, campaign), { recipients: 3 })
})
