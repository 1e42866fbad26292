import t from 'tap'
import { SANDBOX_DOMAIN } from '#flows/accounts/create_sandbox.ts'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { shows } from '#test/support/shows.ts'
import { addDomain, newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const api = await startApi(t, world, '')

async function add({ id: account_id }: TestAccount, name: string): Promise<string> {
  const domain = { account_id, id: newId(), name, status: 'verified' as const }
  await addDomain(world.pool, world.secrets, domain)
  return domain.id
}

const create = ({ key }: TestAccount, fields: object) =>
  api.request('POST', '/api/contacts', { key, body: { email: 'a@b.com', ...fields } })

t.test('a request without `domain` means the only domain of the account', async t => {
  const account = await newAccount(world)
  shows(t, (await create(account, {})).body, { domain_id: account.domain_id })
  await add(account, `second-${account.domain}`)
  const message = 'Missing `domain`: this account has no domain, or several.'
  shows(t, await create(account, {}), { status: 422, body: { name: 'validation_error', message } })
})

t.test('the sandbox domain is the default only while it is the only one', async t => {
  const account = await newAccount(world)
  await world.pool.pg.query('UPDATE domains SET name = $2 WHERE id = $1', [account.domain_id, SANDBOX_DOMAIN])
  shows(t, (await create(account, {})).body, { domain_id: account.domain_id })
  const own = await add(account, account.domain)
  shows(t, (await create(account, {})).body, { domain_id: own })
  await add(account, `second-${account.domain}`)
  shows(t, await create(account, {}), { status: 422 })
})

t.test('`domain` is a name in any case, in Unicode, or an id', async t => {
  const account = await newAccount(world)
  const id = await add(account, 'xn--bcher-kva.de')
  for (const domain of ['xn--bcher-kva.de', 'Bücher.de', id, id.toUpperCase()]) {
    shows(t, (await create(account, { domain })).body, { domain_id: id })
  }
  const message = '`domain` must be the name or the id of one of your domains.'
  for (const domain of ['', 'b', 'nobody.com', newId(), (await newAccount(world)).domain]) {
    shows(t, await create(account, { domain }), { status: 422, body: { name: 'validation_error', message } })
  }
})

t.test('an audience implies its domain, and must match a given one', async t => {
  const account = await newAccount(world)
  const other = await add(account, `other-${account.domain}`)
  shows(t, (await create(account, { audience_id: other })).body, { domain_id: other, audience_ids: [other] })
  shows(t, await create(account, { audience_id: other, domain: account.domain }), { status: 422 })
  shows(t, await create(account, { audience_id: newId() }), { status: 404, body: { message: 'Audience not found' } })
})

t.test('an address finds a contact without `domain` if only one domain has it', async t => {
  const account = await newAccount(world)
  const other = await add(account, `other-${account.domain}`)
  const get = (path: string) => api.request('GET', `/api/contacts/${path}`, { key: account.key })
  const { id } = (await create(account, { domain: other })).body
  shows(t, (await get('A@b.com')).body, { id })
  shows(t, await get('nobody@b.com'), { status: 404, body: { message: 'Contact not found' } })
  await create(account, { domain: account.domain })
  shows(t, await get('a@b.com'), { status: 422 })
  shows(t, (await get(`a@b.com?domain=${other}`)).body, { id })
})
