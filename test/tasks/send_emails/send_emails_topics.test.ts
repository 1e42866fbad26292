import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { suppress } from '#test/support/database/states.ts'
import { deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { newListener, takeEvents } from '#test/support/webhooks/webhook_events.ts'
import { addOtherDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newListener(world, ['email.suppressed'])
const api = await startApi(t, world, account.key)
const inbox = await startInbox(t)
const work = openWork(t, world, inbox.url)
const { domain, id: account_id } = account
const { pg } = world.pool

const post = (path: string, body: object) => api.request('POST', `/api${path}`, { body })
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body
const patch = (path: string, body: object) => api.request('PATCH', `/api${path}`, { body })

const NOT_SUBSCRIBED = 'The recipient is not subscribed to the topic.'
const SUPPRESSED = 'The address is on the suppression list.'

async function makeTopic(default_subscription: string, given: object = {}): Promise<string> {
  return (await post('/topics', { name: newId(), default_subscription, ...given })).body.id
}

/** Adds a contact of the domain; returns its id. */
async function addContact(email: string, given: object = {}): Promise<string> {
  return (await post('/contacts', { email, domain, ...given })).body.id
}

const email = (given: object) => ({ from: `news@${domain}`, subject: 'Hello', text: 'Hi', ...given })

/** The dropped recipients with their reasons. */
async function dropped(id: string) {
  const { rows } = await pg.query(
    `SELECT recipient, reason FROM deliveries WHERE email_id = $1 AND state = 'suppressed' ORDER BY recipient`,
    [id],
  )
  return Object.fromEntries(rows.map(({ recipient, reason }) => [recipient, reason]))
}

/** Sends an email; returns the recipients who got it, sorted. */
async function deliver(id: string) {
  const before = inbox.messages.length
  await deliverEmails(work, [id])
  return inbox.messages
    .slice(before)
    .map(({ rcpt_to }) => rcpt_to[0])
    .sort()
}

t.test('only contacts subscribed to the topic get its emails', async t => {
  for (const default_subscription of ['opt_in', 'opt_out']) {
    const isIn = default_subscription === 'opt_in'
    const topic = await makeTopic(default_subscription)
    const at = (name: string) => `${name}@${default_subscription.replace('_', '-')}.com`
    const choose = (subscription: string) => ({ topics: [{ id: topic, subscription }] })
    await addContact(at('plain'))
    await addContact(at('in'), choose('opt_in'))
    await addContact(at('out'), choose('opt_out'))
    await addContact(at('gone'), { ...choose('opt_in'), unsubscribed: true })
    await suppress(world, account_id, at('suppressed'))
    // Opt-outs stay when a contact is deleted.
    for (const [name, given] of [
      ['left', choose('opt_out')],
      ['left-all', { unsubscribed: true }],
      ['was', {}],
    ] as const) {
      await api.request('DELETE', `/api/contacts/${await addContact(at(name), given)}`)
    }
    const names = ['plain', 'IN', 'out', 'gone', 'suppressed', 'left', 'left-all', 'was', 'stranger']
    const [first, ...others] = names.map(at)
    await takeEvents(world, account_id)
    const { status, body } = await post('/emails', email({ to: [at('IN'), first], cc: others, topic_id: topic }))
    t.equal(status, 200)
    const out = ['out', 'gone', 'left', 'left-all', ...(isIn ? [] : ['plain', 'was', 'stranger'])]
    const reasons = {
      ...Object.fromEntries(out.map(name => [at(name), NOT_SUBSCRIBED])),
      [at('suppressed')]: SUPPRESSED,
    }
    t.strictSame(await dropped(body.id), Object.fromEntries(Object.entries(reasons).sort()))

    const events = (await takeEvents(world, account_id)).map(({ data }) => [data.to, data.suppressed])
    t.strictSame(
      events.sort(),
      Object.entries(reasons)
        .sort()
        .map(([to, message]) => [
          [to],
          message === SUPPRESSED
            ? { message, type: 'OnAccountSuppressionList', reason: 'manual' }
            : { message, type: 'NotSubscribedToTopic', reason: 'topic' },
        ]),
    )
    t.strictSame(await deliver(body.id), (isIn ? ['IN', 'plain', 'stranger', 'was'] : ['IN']).map(at))
    shows(t, await get(`/emails/${body.id}`), { status: 'delivered', topic_id: topic, to: [at('IN'), first] })
  }
})

t.test('an email is refused if all `to` recipients are dropped', async t => {
  const topic = await makeTopic('opt_out')
  await addContact('reader@b.com', { topics: [{ id: topic, subscription: 'opt_in' }] })
  const message = 'All `to` recipients are suppressed or not subscribed to the topic.'
  const refused = await post('/emails', email({ to: 'nobody@b.com', cc: 'reader@b.com', topic_id: topic }))
  shows(t, refused, { status: 422, body: { name: 'validation_error', message } })
  shows(t, await post('/emails', email({ to: 'nobody@b.com', cc: 'reader@b.com' })), { status: 200 })
})

t.test('a topic of another account or domain is not found', async t => {
  const other = await addOtherDomain(world, account)
  const theirs = await newAccount(world)
  const news = { name: 'News', default_subscription: 'opt_in' }
  const foreign = (await api.request('POST', '/api/topics', { key: theirs.key, body: news })).body.id
  const ofOther = await makeTopic('opt_in', { domain_id: other.id })
  const answers = []
  for (const topic_id of [newId(), foreign, ofOther])
    answers.push(await post('/emails', email({ to: 'a@b.com', topic_id })))
  for (const { status, text } of answers) t.strictSame([status, text], [404, answers[0]?.text])
  shows(t, answers[0], { body: { name: 'not_found', message: 'Topic not found' } })
  const fitting = email({ from: `a@${other.name}`, to: 'a@b.com', topic_id: ofOther })
  t.equal((await post('/emails', fitting)).status, 200)
})

t.test('a contact who leaves the topic before the claim gets no email', async t => {
  const topic = await makeTopic('opt_in')
  const [left, unsubscribed] = [await addContact('left@c.com'), await addContact('unsubscribed@c.com')]
  const back = await addContact('back@c.com')
  const to = ['left@c.com', 'unsubscribed@c.com', 'back@c.com', 'stranger@c.com', 'other@c.com']
  const { id } = (await post('/emails', email({ to, topic_id: topic }))).body
  const plain = (await post('/emails', email({ to }))).body.id
  await patch(`/contacts/${left}/topics`, [{ id: topic, subscription: 'opt_out' }])
  await patch(`/contacts/${unsubscribed}`, { unsubscribed: true })
  await patch(`/contacts/${back}`, { unsubscribed: true })
  await patch(`/contacts/${back}`, { unsubscribed: false })
  await pg.query(`INSERT INTO contact_optouts SELECT $1, $2, sha256('stranger@c.com'), everything()`, [
    account_id,
    account.domain_id,
  ])
  t.strictSame(await deliver(id), ['back@c.com', 'other@c.com'])
  const out = { 'left@c.com': NOT_SUBSCRIBED, 'stranger@c.com': NOT_SUBSCRIBED, 'unsubscribed@c.com': NOT_SUBSCRIBED }
  t.strictSame(await dropped(id), out)
  t.strictSame(await deliver(plain), to.toSorted(), 'transactional mail needs no subscription')
  t.strictSame(await dropped(plain), {})
})

t.test('an email of a topic that was deleted before sending reaches nobody', async t => {
  const topic = await makeTopic('opt_in')
  await addContact('reader@d.com', { topics: [{ id: topic, subscription: 'opt_in' }] })
  const to = ['reader@d.com', 'stranger@d.com']
  const { id } = (await post('/emails', email({ to, topic_id: topic }))).body
  await api.request('DELETE', `/api/topics/${topic}`)
  t.strictSame(await deliver(id), [])
  t.strictSame(await dropped(id), Object.fromEntries(to.map(address => [address, NOT_SUBSCRIBED])))
  shows(t, await get(`/emails/${id}`), { topic_id: topic, status: 'suppressed' })
})

t.test('the simulator is subscribed to every topic', async t => {
  const topic = await makeTopic('opt_out')
  const to = `delivered@${world.config.SIMULATOR_DOMAIN}`
  const { id } = (await post('/emails', email({ to, topic_id: topic }))).body
  await deliver(id)
  shows(t, await get(`/emails/${id}`), { status: 'delivered' })
})

t.test('each email of a batch has its own topic', async t => {
  const [open, closed] = [await makeTopic('opt_in'), await makeTopic('opt_out')]
  await addContact('reader@e.com', { topics: [{ id: closed, subscription: 'opt_in' }] })
  await addContact('out@e.com', { topics: [{ id: open, subscription: 'opt_out' }] })
  const to = ['reader@e.com', 'out@e.com']
  const wrong = await post('/emails/batch', [email({ to }), email({ to, topic_id: newId() })])
  shows(t, wrong, { status: 404, body: { message: 'emails[1]: Topic not found' } })

  const answer = await post(
    '/emails/batch',
    [open, closed, null].map(topic_id => email({ to, topic_id })),
  )
  const ids = answer.body.data.map(({ id }) => id)
  const outcomes = []
  for (const id of ids) outcomes.push([await dropped(id), await deliver(id)])
  t.strictSame(outcomes, [
    [{ 'out@e.com': NOT_SUBSCRIBED }, ['reader@e.com']],
    [{ 'out@e.com': NOT_SUBSCRIBED }, ['reader@e.com']],
    [{}, ['out@e.com', 'reader@e.com']],
  ])
})
