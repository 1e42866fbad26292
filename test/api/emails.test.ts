import t from 'tap'
import { startApi } from '../api.ts'
import { newAccount, openWorld } from '../world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

t.test('POST /emails answers the id of an email that is stored and queued', async t => {
  const email = { from: `Ann <ann@${account.domain}>`, to: 'bob@b.com', subject: 'Hi', text: 'Hello' }
  const { status, body } = await api.request('POST', '/api/emails', { body: email })

  t.equal(status, 200)
  t.strictSame(Object.keys(body), ['id'])
  const found = await api.request('GET', `/api/emails/${body.id}`)
  t.match(found.body, {
    object: 'email',
    from: email.from,
    to: ['bob@b.com'],
    status: 'queued',
    queue: [{ recipient: 'bob@b.com', state: 'queued', attempts: 0, last_reply: null }],
  })
})
