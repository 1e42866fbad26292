import t from 'tap'
import { newId } from '#lib/ids.ts'
import { remove_leftovers } from '#tasks/remove_leftovers.ts'
import { startApi } from '#test/support/api.ts'
import { openWork } from '#test/support/sending.ts'
import { addDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world)

t.test('events of a deleted domain are deleted, also those of contacts that were deleted before it', async t => {
  const other = { account_id: account.id, id: newId(), name: `other.${account.domain}`, status: 'verified' } as const
  await addDomain(world.pool, world.secrets, other)
  const send = (domain: string, email: string) =>
    api.request('POST', '/api/events/send', { body: { event: 'bought', domain, email } })
  await send(other.name, 'ann@b.com')
  await send(account.domain, 'ann@b.com')
  await send(other.name, 'bob@b.com')
  await api.request('DELETE', `/api/contacts/ann@b.com?domain=${other.name}`)
  await api.request('DELETE', `/api/domains/${other.id}?with_contacts=true`)
  await remove_leftovers({ of: 'domain', account_id: account.id, id: other.id }, work)
  const { rows } = await world.pool.pg.query('SELECT domain_id FROM contact_events WHERE account_id = $1', [account.id])
  t.strictSame(rows, [{ domain_id: account.domain_id }])
})
