import t from 'tap'
import { remove_leftovers } from '#tasks/remove_leftovers.ts'
import { startApi } from '#test/support/api.ts'
import { openWork } from '#test/support/sending.ts'
import { addOtherDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool
const work = openWork(t, world)

/** Opens an account with two domains. `removeOther` deletes the second with its contacts, and runs the job that removes the rest. */
async function open() {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const other = await addOtherDomain(world, account)
  const removeOther = async () => {
    await api.request('DELETE', `/api/domains/${other.id}?with_contacts=true`)
    await remove_leftovers({ of: 'domain', account_id: account.id, id: other.id }, work)
  }
  return { account, api, other, removeOther }
}

t.test('the counts of all audiences of a deleted domain are deleted, and those of other domains are kept', async t => {
  const { account, api, other, removeOther } = await open()
  const kept: string[] = []
  for (const domain of [other.name, account.domain]) {
    const { body } = await api.request('POST', '/api/audiences', { body: { name: 'News', domain } })
    const contacts = [{ email: 'ann@b.com' }]
    await api.request('POST', `/api/audiences/${body.id}/contacts/batch`, { body: { contacts } })
    if (domain === account.domain) kept.push(account.domain_id, body.id)
  }
  await removeOther()
  const { rows } = await pg.query(
    `SELECT audience_id, sum(contacts)::int AS contacts FROM audience_counts WHERE account_id = $1 GROUP BY 1 ORDER BY 1`,
    [account.id],
  )
  t.strictSame(
    rows,
    kept.sort().map(audience_id => ({ audience_id, contacts: 1 })),
  )
})

t.test('events of a deleted domain are deleted, also those of contacts that were deleted before it', async t => {
  const { account, api, other, removeOther } = await open()
  const send = (domain: string, email: string) =>
    api.request('POST', '/api/events/send', { body: { event: 'bought', domain, email } })
  await send(other.name, 'ann@b.com')
  await send(account.domain, 'ann@b.com')
  await send(other.name, 'bob@b.com')
  await api.request('DELETE', `/api/contacts/ann@b.com?domain=${other.name}`)
  await removeOther()
  const { rows } = await pg.query('SELECT domain_id FROM contact_events WHERE account_id = $1', [account.id])
  t.strictSame(rows, [{ domain_id: account.domain_id }])
})
