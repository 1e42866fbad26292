import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const imports = new Imports(api, account.key, openWork(t, world).importer)

const post = async (path: string, body: object) => (await api.request('POST', `/api${path}`, { body })).body
const choiceOf = async (email: string) =>
  Object((await api.request('GET', `/api/contacts/${email}/topics`)).body).data[0].choice

t.test('batches and imports leave an opt-out from a topic, unless they have `resubscribe`', async t => {
  const { id } = await post('/topics', { name: 'News', default_subscription: 'opt_in' })
  const optOut = [{ id, subscription: 'opt_out' }]
  const topics = [{ id, subscription: 'opt_in' }]
  await post('/contacts', { email: 'out@b.com', topics: optOut })
  await post('/contacts', { email: 'old@b.com' })
  const contacts = [{ email: 'out@b.com' }, { email: 'old@b.com' }]
  const csv = 'email\nout@b.com\nold@b.com\n'
  const choices = async () => [await choiceOf('out@b.com'), await choiceOf('old@b.com')]

  await post('/contacts/batch', { contacts, topics, on_conflict: 'skip' })
  shows(t, await imports.ofText(csv, { topics, on_conflict: 'skip' }), { counts: { skipped: 2 } })
  t.strictSame(await choices(), ['opt_out', null], 'skipped contacts stay as they are')
  await post('/contacts/batch', { contacts, topics })
  t.strictSame(await choices(), ['opt_out', 'opt_in'])
  shows(t, await imports.ofText(csv, { topics }), { counts: { updated: 2 } })
  t.strictSame(await choices(), ['opt_out', 'opt_in'])

  await api.request('DELETE', '/api/contacts/out@b.com')
  await post('/contacts/batch', { contacts, topics })
  t.strictSame(await choices(), ['opt_out', 'opt_in'], 'also if it was deleted since')
  await imports.ofText(csv, { topics: optOut })
  t.strictSame(await choices(), ['opt_out', 'opt_out'])
  await post('/contacts/batch', { contacts, topics, resubscribe: true })
  t.strictSame(await choices(), ['opt_in', 'opt_in'])
  await imports.ofText(csv, { topics: optOut })
  await imports.ofText(csv, { topics, resubscribe: true })
  t.strictSame(await choices(), ['opt_in', 'opt_in'])
})
