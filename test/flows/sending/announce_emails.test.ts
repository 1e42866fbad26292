import t from 'tap'
import { v7 as uuid } from 'uuid'
import { cancelEmail, rescheduleEmail } from '#flows/sending/change_schedule.ts'
import { removeExpiredSuppressions } from '#flows/suppressions/change_suppressions.ts'
import { describeBounce } from '#lib/delivery/bounce_details.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DeliveryResult,
  settleDeliveries,
} from '#sql/delivery/deliveries.ts'
import { applyReportedOutcome, type ReportedOutcome } from '#sql/receiving/reports.ts'
import { announceEmails } from '#sql/sending/announce_emails.ts'
import { upsertSuppressions } from '#sql/suppressions/suppression_changes.ts'
import { startApi } from '#test/support/api.ts'
import { ageEmail } from '#test/support/database/states.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newListener, takeEvents, takeEventTypes } from '#test/support/webhooks/webhook_events.ts'
import { newAccount, openWorld } from '#test/support/world.ts'
import { startWorker } from '#workers/worker.ts'

const world = await openWorld(t)
const { pool } = world
const work = openWork(t, world, 'capture')
const api = await startApi(t, world, '')
const account = await newListener(world)
const HOUR = 3_600_000

/** Returns the data that every event of an email has. */
async function dataOf(id: string, more: object = {}) {
  const { message_id, created_at, from, to, subject } = await readEmail(world, account, id)
  return { email_id: id, message_id, created_at: created_at.toISOString(), from, to, subject, tags: {}, ...more }
}

async function claim(email_id: string): Promise<Record<string, ClaimedDelivery>> {
  const options = { lease_owner: uuid(), lease_seconds: 40, limit: 100, email_ids: [email_id] }
  const claimed = await claimDeliveries(pool, options)
  return Object.fromEntries(claimed.map(delivery => [delivery.recipient, delivery]))
}

type Result = Omit<DeliveryResult, keyof ClaimedDelivery>

/** Settles the recipients of an email with the given results. */
async function settle(email_id: string, results: Record<string, Result>): Promise<void> {
  const claimed = await claim(email_id)
  const all = Object.entries(results).map(([to, result]) => ({ ...(claimed[to] as ClaimedDelivery), ...result }))
  await settleDeliveries(pool, all)
}

const bounce = describeBounce('550 5.1.1 No such user', { outcome: 'bounced', class: 'recipient' })

t.test('events of an email have its tags, headers, template and addresses', async t => {
  const fields = { name: 'hi', from: `Ann <ann@${account.domain}>`, subject: 'Hi', html: 'Hi', text: 'Hi' }
  const request = (path: string, body?: object) => api.request('POST', `/api${path}`, { key: account.key, body })
  const { id: template_id } = (await request('/templates', fields)).body
  await request(`/templates/${template_id}/publish`)
  const tags = [
    { name: 'kind', value: 'welcome' },
    { name: 'run', value: '7' },
  ]
  const headers = { 'X-Ours': 'é "1"' }
  const draft = { template_id, to: ['Bob <b@y.com>', 'c@y.com'], cc: ['d@y.com'], tags, headers }
  const { id, message } = (await request('/emails', draft)).body
  if (!id) throw new Error(message)
  await settle(id, { 'd@y.com': { outcome: 'delivered' } })
  const data = await dataOf(id, { tags: { kind: 'welcome', run: '7' }, headers, template_id })
  shows(t, data, { from: `Ann <ann@${account.domain}>`, to: ['Bob <b@y.com>', 'c@y.com'], message_id: /^<.+@.+>$/ })
  t.strictSame(await takeEvents(world, account.id), [
    { type: 'email.sent', data },
    { type: 'email.delivered', data: { ...data, to: ['d@y.com'] } },
  ])
})

t.test('each recipient has its own event; the first delivery also fires email.sent', async t => {
  const to = ['ok@y.com', 'slow@y.com', 'gone@y.com', 'never@y.com', 'list@y.com', 'doubt@y.com', 'spam@y.com']
  const id = await acceptEmail(world, account, { to })
  await settle(id, {
    'ok@y.com': { outcome: 'delivered', reply: '250 ok' },
    'slow@y.com': { outcome: 'deferred', reason: 'Try later.', delay: 60 },
    'gone@y.com': { outcome: 'bounced', reason: 'No such user.', bounce, class: 'recipient' },
    'never@y.com': { outcome: 'failed', reason: 'It is too large.' },
    'list@y.com': { outcome: 'suppressed', reason: 'The address is on the suppression list.' },
    'doubt@y.com': { outcome: 'in_doubt', reason: 'No reply came.', delay: 900 },
    'spam@y.com': { outcome: 'complained' },
  })
  const data = await dataOf(id)
  const of = (recipient: string, type: string, more: object = {}) => ({
    type: `email.${type}`,
    data: { ...data, to: [`${recipient}@y.com`], ...more },
  })
  const message = 'The address is on the suppression list.'
  t.strictSame(await takeEvents(world, account.id), [
    { type: 'email.sent', data },
    of('doubt', 'delivery_delayed', { delay: { message: 'No reply came.' } }),
    of('gone', 'bounced', { bounce }),
    of('list', 'suppressed', { suppressed: { message, type: 'OnAccountSuppressionList', reason: 'manual' } }),
    of('never', 'failed', { failed: { reason: 'It is too large.' } }),
    of('ok', 'delivered'),
    of('slow', 'delivery_delayed', { delay: { message: 'Try later.' } }),
    of('spam', 'delivered'),
    of('spam', 'complained'),
  ])
})

t.test('a released or resumed delivery is not announced', async t => {
  const id = await acceptEmail(world, account)
  await settle(id, { 'x@y.com': { outcome: 'released', reason: 'The worker stopped.' } })
  const { 'x@y.com': doubtful } = (await claim(id)) as { 'x@y.com': ClaimedDelivery }
  t.strictSame(await takeEvents(world, account.id), [])
  await settleDeliveries(pool, [{ ...doubtful, outcome: 'in_doubt', reason: 'No reply came.', delay: 0 }])
  await settleDeliveries(pool, [{ ...doubtful, outcome: 'resumed' }])
  t.strictSame(await takeEventTypes(world, account.id), ['email.delivery_delayed'])
})

t.test('email.failed of a given-up email has the reason', async t => {
  const id = await acceptEmail(world, account)
  await ageEmail(world, id, 73)
  await settle(id, { 'x@y.com': { outcome: 'deferred', reason: 'Nobody answers.', delay: 60 } })
  const reason = 'Given up after 72 hours. Nobody answers.'
  shows(t, await takeEvents(world, account.id), [{ type: 'email.failed', data: { failed: { reason } } }])
})

t.test('email.bounced always has a bounce, even if undetermined', async t => {
  await settle(await acceptEmail(world, account), { 'x@y.com': { outcome: 'bounced', reason: 'No.' } })
  const undetermined = { type: 'Undetermined', subType: 'Undetermined', message: 'No.', diagnosticCode: [] }
  shows(t, await takeEvents(world, account.id), [{ type: 'email.bounced', data: { bounce: undetermined } }])
})

t.test('simulated emails fire the same events', async t => {
  const mailboxes = ['delivered', 'bounced', 'complained', 'suppressed', 'whoever']
  const at = (mailbox: string) => `${mailbox}@${world.config.SIMULATOR_DOMAIN}`
  const id = await acceptEmail(world, account, { to: mailboxes.map(at) })
  await deliverEmails(work, [id])
  const events = (await takeEvents(world, account.id)).map(({ type, data }) => [type, data.to, data])
  const none = { type: 'Permanent', subType: 'NoEmail', message: '550 5.1.1 Simulated: no such user' }
  const suppressed = { type: 'OnAccountSuppressionList', reason: 'manual', message: 'Simulated suppression.' }
  t.equal(events.length, 7)
  t.strictSame([...new Set(events.map(([type]) => type))].sort(), [
    'email.bounced',
    'email.complained',
    'email.delivered',
    'email.sent',
    'email.suppressed',
  ])
  for (const [type, to, data] of events) {
    if (type === 'email.bounced') shows(t, data, { bounce: { ...none, diagnosticCode: [`smtp; ${none.message}`] } })
    if (type === 'email.suppressed') shows(t, [to, data], [[at('suppressed')], { suppressed }])
  }
})

t.test('a later bounce or complaint fires its event and suppression.added', async t => {
  const report = async (outcome: 'bounced' | 'complained', state: 'delivered' | 'in_doubt') => {
    const id = await acceptEmail(world, account, { to: [`${outcome}.${state}@y.com`] })
    await settle(id, { [`${outcome}.${state}@y.com`]: { outcome: state, reason: 'No reply came.', delay: 900 } })
    const before = await takeEventTypes(world, account.id)
    const { rows } = await pool.pg.query('SELECT id FROM deliveries WHERE email_id = $1', [id])
    const known = { reason: 'No such user.', reply: '550 no', class: 'recipient', suppression_id: uuid() }
    const given = { account_id: account.id, delivery_id: rows[0].id, outcome, ...known }
    const apply = (reported: ReportedOutcome) => pool.transaction(tx => applyReportedOutcome(tx, reported))
    await apply({ ...given, bounce: outcome === 'bounced' ? bounce : null })
    await apply({ ...given, bounce, suppression_id: uuid() })
    const events = await takeEvents(world, account.id)
    const { body } = await api.request('GET', `/api/suppressions/${known.suppression_id}`, { key: account.key })
    t.strictSame(events.find(({ type }) => type === 'suppression.added')?.data, body)
    t.equal(body.id, known.suppression_id)
    t.match(body, { source_email_id: id, reason: outcome === 'bounced' ? 'bounce' : 'complaint' })
    return {
      before,
      types: events.map(({ type }) => type).sort(),
      data: events.find(({ type }) => type === `email.${outcome}`)?.data,
    }
  }
  const bounced = await report('bounced', 'delivered')
  t.strictSame(bounced.before, ['email.sent', 'email.delivered'])
  t.strictSame(bounced.types, ['email.bounced', 'suppression.added'])
  shows(t, bounced.data, { to: ['bounced.delivered@y.com'], bounce })
  t.strictSame((await report('bounced', 'in_doubt')).types, ['email.bounced', 'suppression.added'])
  t.strictSame((await report('complained', 'delivered')).types, ['email.complained', 'suppression.added'])
  const arrived = await report('complained', 'in_doubt')
  t.strictSame(
    arrived.types,
    ['email.complained', 'email.sent', 'suppression.added'],
    'it shows that the email had arrived',
  )
})

t.test('suppressed and reserved recipients fire email.suppressed at acceptance', async t => {
  const row = { id: uuid(), address: 'no@y.com', reason: 'complaint', expires_at: null } as const
  await pool.transaction(tx => upsertSuppressions(tx, account.id, [row]))
  const id = await acceptEmail(world, account, { to: ['x@y.com', 'NO@y.com'], bcc: ['a@example.com'] })
  const suppressed = [
    ['NO@y.com', 'The address is on the suppression list.', 'OnAccountSuppressionList', 'complaint'],
    ['a@example.com', 'The domain is reserved for documentation and tests.', 'ReservedDomain', 'reserved'],
  ] as const
  const expected = await Promise.all(
    suppressed.map(async ([to, message, type, reason]) => ({
      type: 'email.suppressed',
      data: await dataOf(id, { to: [to], suppressed: { message, type, reason } }),
    })),
  )
  t.strictSame(await takeEvents(world, account.id), expected)

  const [, { message }] = suppressed.map(([, message]) => ({ message })) as [object, { message: string }]
  await settle(id, { 'x@y.com': { outcome: 'suppressed', reason: message } })
  shows(t, await takeEvents(world, account.id), [
    { data: { suppressed: { type: 'ReservedDomain', reason: 'reserved' } } },
  ])
})

t.test('scheduling, rescheduling and canceling an email fire events', async t => {
  const times = [1, 2].map(hours => new Date(Date.now() + hours * HOUR).toISOString()) as [string, string]
  const id = await acceptEmail(world, account, { scheduled_at: times[0], tags: [{ name: 'a', value: 'b' }] })
  const data = await dataOf(id, { tags: { a: 'b' } })
  t.strictSame(await takeEvents(world, account.id), [
    { type: 'email.scheduled', data: { ...data, scheduled_at: times[0] } },
  ])
  const call = (method: string, path: string, body?: object) =>
    api.request(method, `/api/emails/${id}${path}`, { key: account.key, body })
  t.equal((await call('PATCH', '', { scheduled_at: times[1] })).status, 200)
  t.strictSame(await takeEvents(world, account.id), [
    { type: 'email.scheduled', data: { ...data, scheduled_at: times[1] } },
  ])
  t.equal((await call('PATCH', '', { scheduled_at: '2020-01-01T00:00:00Z' })).status, 422)
  t.equal((await call('POST', '/cancel')).status, 200)
  t.strictSame(await takeEvents(world, account.id), [{ type: 'email.canceled', data }])
  t.equal((await call('POST', '/cancel')).status, 422)
  t.equal((await call('PATCH', '', { scheduled_at: times[1] })).status, 422)
  t.strictSame(await takeEvents(world, account.id), [])
})

t.test('a rolled back change is not announced', async t => {
  const email_id = await acceptEmail(world, account)
  const change = pool.transaction(async tx => {
    await announceEmails(tx, [{ account_id: account.id, email_id, type: 'canceled' }])
    throw new Error('no')
  })
  await t.rejects(change, { message: 'no' })
  t.strictSame(await takeEvents(world, account.id), [])
})

t.test('no email event is stored without an enabled subscription to its type', async t => {
  const deaf = [
    await newAccount(world),
    await newListener(world, ['email.opened', 'domain.created']),
    await newListener(world, ['email.delivered', 'suppression.added']),
  ]
  await pool.pg.query(`UPDATE webhooks SET status = 'disabled', disabled_reason = 'manual' WHERE account_id = $1`, [
    deaf[2]?.id,
  ])
  for (const account of deaf) {
    const email = {
      account_id: account.id,
      id: await acceptEmail(world, account, { scheduled_at: new Date(Date.now() + HOUR).toISOString() }),
    }
    await rescheduleEmail(pool, email, { at: new Date(Date.now() + 2 * HOUR), is_now: false, fault: null })
    await cancelEmail(pool, email)
    const id = await acceptEmail(world, account)
    await settle(id, { 'x@y.com': { outcome: 'bounced', bounce, suppression_id: uuid() } })
    await api.request('DELETE', '/api/suppressions/x@y.com', { key: account.key })
    t.strictSame(await takeEvents(world, account.id), [])
  }
  t.strictSame(await takeEvents(world, account.id), [], 'nor in those of other accounts')
})

t.test('suppression.added and suppression.removed fire once per change', async t => {
  const call = (method: string, path = '', body?: object) =>
    api.request(method, `/api/suppressions${path}`, { key: account.key, body })
  const { body: first } = await call('POST', '', { email: 'Ann@y.com', expires_at: '2099-01-01T00:00:00Z' })
  t.strictSame(await takeEvents(world, account.id), [{ type: 'suppression.added', data: first }])
  const { status, body: changed } = await call('POST', '', { email: 'ann@y.com', reason: 'complaint' })
  t.equal(status, 200)
  t.strictSame(await takeEvents(world, account.id), [], 'the suppression existed before')

  await call('DELETE', '/ann@y.com')
  t.strictSame(await takeEvents(world, account.id), [{ type: 'suppression.removed', data: changed }])
  t.equal((await call('DELETE', '/ann@y.com')).status, 404)
  t.strictSame(await takeEvents(world, account.id), [])

  await call('POST', '', { email: 'ann@y.com' })
  await pool.pg.query(`UPDATE suppressions SET expires_at = now() WHERE address = 'ann@y.com'`)
  await takeEvents(world, account.id)
  const { body: renewed } = await call('POST', '', { email: 'ann@y.com' })
  t.strictSame(
    await takeEvents(world, account.id),
    [{ type: 'suppression.added', data: renewed }],
    'the other had expired',
  )

  const expires_at = '2020-01-01T00:00:00.000Z'
  await pool.pg.query(`UPDATE suppressions SET expires_at = $1 WHERE address = 'ann@y.com'`, [expires_at])
  t.equal(await removeExpiredSuppressions(pool, 10), 1)
  t.strictSame(await takeEvents(world, account.id), [{ type: 'suppression.removed', data: { ...renewed, expires_at } }])
  t.equal(await removeExpiredSuppressions(pool, 10), 0)
})

t.test('emails of a batch fire the same events', async t => {
  const worker = await startWorker(world)
  t.teardown(() => worker.stop())
  const email = { from: `hello@${account.domain}`, subject: 'Hi' }
  const scheduled_at = new Date(Date.now() + HOUR).toISOString()
  const body = [
    { ...email, to: ['x@y.com'], scheduled_at },
    { ...email, to: ['x@y.com', 'a@example.com'], scheduled_at },
  ]
  const answer = await api.request('POST', '/api/emails/batch', { key: account.key, body })
  const [first, second] = answer.body.data.map(({ id }) => id)
  const events = await takeEvents(world, account.id) // also of emails of other tests, which the worker finds
  const ours = events.filter(({ data }) => data.email_id === first || data.email_id === second)
  t.equal(ours.length, 3)
  shows(t, ours, [
    { type: 'email.scheduled', data: { email_id: first, scheduled_at } },
    { type: 'email.scheduled', data: { email_id: second, scheduled_at } },
    { type: 'email.suppressed', data: { email_id: second, to: ['a@example.com'] } },
  ])
})
