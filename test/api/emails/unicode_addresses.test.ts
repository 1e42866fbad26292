import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { addRecipient } from '#test/support/campaign_rows.ts'
import { addContacts, createDraft } from '#test/support/campaigns.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const ADDRESS = 'ann@xn--bcher-kva.de'
const [contact_id] = (await addContacts(world, account, [ADDRESS, 'bob@b.com'])) as [string, string]
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body
const texts = ['ann@bücher.de', '@BÜCHER.de', 'n@bu\u0308cher.de', ADDRESS]

t.test('`q` finds emails by an address with a domain in Unicode', async t => {
  const id = await acceptEmail(world, account, { to: ['Ann <ann@bücher.de>'] })
  await acceptEmail(world, account, { to: ['bob@b.com'] })
  for (const q of [...texts, 'Ann <ann@bücher.de>']) {
    shows(t, await get(`/emails?q=${encodeURIComponent(q)}`), { has_more: false, data: [{ id }] })
  }
})

t.test('a segment finds contacts by an address with a domain in Unicode', async t => {
  for (const email_contains of texts) {
    const body = { name: email_contains, domain: account.domain, filter: { email_contains } }
    const { id } = (await api.request('POST', '/api/segments', { body })).body
    shows(t, await get(`/segments/${id}/contacts`), { data: [{ email: ADDRESS }] })
  }
  const rules = { field: 'email', operator: 'eq', value: 'Ann@bücher.de' }
  const body = { name: 'Rules', domain: account.domain, rules }
  const { id } = (await api.request('POST', '/api/segments', { body })).body
  shows(t, await get(`/segments/${id}/contacts`), { data: [{ email: ADDRESS }] })
})

t.test('`email` finds the recipient of a campaign by an address with a domain in Unicode', async t => {
  const id = await createDraft(api, account)
  await api.request('POST', `/api/campaigns/${id}/send`)
  await addRecipient(world, account, id, [contact_id, ADDRESS], { state: 'x', reason: 'unsubscribed' })
  const page = await get(`/campaigns/${id}/recipients?email=${encodeURIComponent('Ann@bücher.de')}`)
  shows(t, page, { data: [{ id: contact_id, email: ADDRESS }] })
})
