import t from 'tap'
import { sql } from '#sql/pool.ts'
import { startApi } from '#test/support/api.ts'
import { queueCampaign } from '#test/support/campaigns.ts'
import { begin, openTransaction, untilBlocked } from '#test/support/database/locks.ts'
import { acceptEmail, deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world, 'capture')
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body

t.test('erasing finds email that was accepted meanwhile, for example by a campaign', async t => {
  const person = 'ann@late.com'
  const { id } = (await api.request('POST', '/api/contacts', { body: { email: person, domain: account.domain } })).body
  const before = await acceptEmail(world, account, { to: person })
  await deliverEmails(work, [before])

  const lock = sql.unsafe`SELECT pg_advisory_xact_lock(hashtextextended(${`contacts ${account.id}`}, 0))`
  const other = await begin(world, tx => tx.run(lock))
  const erasing = api.request('DELETE', `/api/contacts/${id}?erase=true`)
  await untilBlocked(world, '%lock_contacts%')
  const sent = await acceptEmail(world, account, { to: person })
  await deliverEmails(work, [sent])
  const waiting = await acceptEmail(world, account, { to: person })
  await other.commit()

  const erased = { emails: 2, pending_emails: 1, received_emails: 0, suppressions: 0 }
  t.strictSame((await erasing).body, { object: 'contact', id, contact: id, deleted: true, erased })
  for (const one of [before, sent]) shows(t, await get(`/emails/${one}`), { to: [], subject: '' })
  shows(t, await get(`/emails/${waiting}`), { to: [person] })
})

t.test('a contact is erased while an email of a campaign to it is recorded as sent, without a deadlock', async t => {
  const { campaign_id } = await queueCampaign(world, account)
  const { id } = (
    await api.request('POST', '/api/contacts', { body: { email: 'bob@late.com', domain: account.domain } })
  ).body
  await world.pool.pg.query(
    `INSERT INTO campaign_recipients (account_id, campaign_id, run, contact_id, email, state) VALUES ($1, $2, 1, $3, 'bob@late.com', 'm')`,
    [account.id, campaign_id, id],
  )
  // Results of deliveries lock the recipient, and then the contact.
  const settling = await openTransaction(t, world)
  await settling.query('UPDATE campaign_recipients SET sent_at = now() WHERE contact_id = $1', [id])
  const erasing = api.request('DELETE', `/api/contacts/${id}?erase=true`)
  await untilBlocked(world, '%campaign_recipients%')
  await settling.query(`SET LOCAL lock_timeout = '200ms'`) // Postgres looks for deadlocks after a second
  await settling.query('SELECT FROM contacts WHERE id = $1 FOR KEY SHARE', [id])
  await settling.commit()
  shows(t, await erasing, { status: 200, body: { deleted: true } })
  const { rows } = await world.pool.pg.query('SELECT email, sent_at FROM campaign_recipients WHERE contact_id = $1', [
    id,
  ])
  shows(t, rows, [{ email: null, sent_at: Date }])
})
