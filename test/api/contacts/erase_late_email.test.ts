import t from 'tap'
import { sql } from '#sql/pool.ts'
import { startApi } from '#test/support/api.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
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
