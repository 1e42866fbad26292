import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { acceptEmail, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world)
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body

t.test('GET /emails and GET /emails/receiving list the mail of one contact', async t => {
  const body = { email: 'Ann@y.com', domain: account.domain }
  const { id } = (await api.request('POST', '/api/contacts', { body })).body
  const sent = await acceptEmail(world, account, { to: 'Ann@y.com' })
  await acceptEmail(world, account, { to: 'bob@y.com' })
  const received = await receive(work, account, await compose({ from: 'ANN@y.com', text: 'x' }))
  await receive(work, account, await compose({ from: 'bob@y.com', text: 'x' }))
  shows(t, await get(`/emails?contact_id=${id}`), { has_more: false, data: [{ id: sent }] })
  shows(t, await get(`/emails/receiving?contact_id=${id}`), { has_more: false, data: [{ id: received }] })
})

t.test('GET /emails of an unknown contact is 404', async t => {
  for (const path of ['/emails', '/emails/receiving']) {
    shows(t, await get(`${path}?contact_id=${newId()}`), { message: 'Contact not found' })
    const message = '`contact_id` and `domain` cannot be combined.'
    shows(t, await get(`${path}?contact_id=${newId()}&domain=a.com`), { message })
    shows(t, await get(`${path}?contact_id=x`), { message: '`contact_id` must be an id: a UUID.' })
  }
})
