import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { makePolled } from '#test/support/polls.ts'
import { shows } from '#test/support/shows.ts'
import { makeRecipient, makeTopic, readState, readWebhookEvents } from '#test/support/unsubscribing.ts'
import { insertUnchecked } from '#test/support/webhooks/announced_events.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const CAP = 1_000
const TOO_OFTEN = 'You have changed this too often. Try again in an hour.'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const press = async (path: string, fields: [string, string][]) => {
  const response = await fetch(api.url + path, { method: 'POST', body: new URLSearchParams(fields) })
  return { status: response.status, html: await response.text() }
}
const readContact = async (email: string) => (await api.request('GET', `/api/contacts/${email}`)).body

t.test('a recipient may opt in 1,000 times an hour, and opt out any number of times', async t => {
  const topics = await Promise.all(Array.from({ length: 50 }, (_, n) => makeTopic(world, account, { name: `T${n}` })))
  await api.request('POST', '/api/contacts', { body: { email: 'often@b.com' } })
  const { path } = await makeRecipient(world, account, 'often@b.com')
  const other = await makeRecipient(world, account, 'often@b.com')
  const shown = topics.map((id): [string, string] => ['shown', id])
  const ticked = topics.map((id): [string, string] => ['topic', id])
  const save: [string, string][] = [['action', 'save'], ...shown]
  for (let n = 0; n < CAP / topics.length; n++) {
    await press(path, save)
    const { html } = await press(path, [...save, ...ticked])
    if (n === 0) t.notMatch(html, TOO_OFTEN)
  }
  const { rows } = await world.pool.pg.query(
    "SELECT count(*)::int FROM contact_consents WHERE account_id = $1 AND subscription = 'opt_in'",
    [account.id],
  )
  t.strictSame(rows, [{ count: CAP }])

  await insertUnchecked(world, account.id, 'https://hooks.acme.com/x')
  const out = await press(path, save)
  t.notMatch(out.html, TOO_OFTEN)
  const state = await readState(world, account)
  const events = (await readWebhookEvents(world, account)).length
  for (const link of [path, other.path]) {
    const { status, html } = await press(link, [...save, ...ticked])
    t.equal(status, 200)
    t.match(html, TOO_OFTEN)
  }
  t.strictSame(await readState(world, account), state)
  t.equal((await readWebhookEvents(world, account)).length, events)

  t.match((await press(path, [['action', 'unsubscribe']])).html, 'You are unsubscribed.')
  shows(t, await readContact('often@b.com'), { unsubscribed: true })
  const refused = await press(path, [['action', 'resubscribe']])
  t.match(refused.html, 'You are unsubscribed.')
  t.match(refused.html, TOO_OFTEN)
  shows(t, await readContact('often@b.com'), { unsubscribed: true })

  await api.request('PATCH', '/api/contacts/often@b.com', { body: { unsubscribed: false } })
  t.strictSame(await press(path, []), { status: 200, html: '' })
  shows(t, await readContact('often@b.com'), { unsubscribed: true })
})

t.test('a recipient may change the answer to a poll 1,000 times an hour', async t => {
  await insertUnchecked(world, account.id, 'https://hooks.acme.com/x')
  const { path } = await makePolled(world, account)
  const { path: another } = await makePolled(world, account)
  const answer = (link: string, option: string) => press(link, [['answer', option]])
  const before = (await readWebhookEvents(world, account)).length
  await answer(path, 'great')
  for (let n = 0; n < CAP; n++) await answer(path, n % 2 ? 'great' : 'bad')
  const told = (await readWebhookEvents(world, account)).length
  t.ok(told > before)

  const { status, html } = await answer(path, 'bad')
  t.equal(status, 200)
  t.match(html, 'Your answer is: <bdi>Great</bdi>.')
  t.match(html, TOO_OFTEN)
  t.match(html, 'value="great" required checked')
  t.equal((await readWebhookEvents(world, account)).length, told)
  t.notMatch((await answer(path, 'great')).html, TOO_OFTEN)
  t.match((await answer(another, 'bad')).html, 'Your answer is: <bdi>Bad</bdi>.')
})
