import t from 'tap'
import { v7 as uuid } from 'uuid'
import { decideDoubts } from '#flows/delivery/decide_doubts.ts'
import { insertUnsubscribedEvent } from '#sql/contacts/preferences/choices.ts'
import { claimDeliveries, type SettledDelivery, settleDeliveries } from '#sql/delivery/deliveries.ts'
import { fenceDeliveries } from '#sql/delivery/leases.ts'
import { upsertSuppressions } from '#sql/suppressions/suppression_changes.ts'
import { ageEmail } from '#test/support/database/states.ts'
import { acceptEmail, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const account = await newAccount(world)

t.test('a result is accepted once, and only with the token of its claim', async t => {
  const [token] = await claim(await acceptEmail(world, account))
  const others = [{ attempt: 0 }, { attempt: 2 }, { lease_owner: uuid() }, { account_id: uuid() }, { id: uuid() }]
  for (const other of others) t.strictSame(await settle({ ...token, ...other, outcome: 'bounced' }), [])
  t.strictSame(await settle({ ...token, lease_owner: null, outcome: 'bounced' }), [])
  t.strictSame(await settle({ ...token, outcome: 'resumed' }), [], 'a delivery that is being sent is not in doubt')
  shows(t, await readEmail(world, account, token.email_id), {
    status: 'queued',
    events: [],
    queue: [{ state: 'sending' }],
  })

  t.strictSame(await settle({ ...token, outcome: 'delivered', via: 'relay', reply: '250 ok' }), [token.id])
  for (const outcome of ['delivered', 'bounced', 'deferred', 'released', 'in_doubt', 'lost', 'resumed'] as const) {
    t.strictSame(await settle({ ...token, outcome }), [], `${outcome} comes too late`)
  }
  const email = await readEmail(world, account, token.email_id)
  shows(t, email, {
    status: 'delivered',
    events: [{ type: 'sent' }, { type: 'delivered', via: 'relay', reply: '250 ok' }],
  })
  t.equal(email.events.length, 2)
})

t.test('a repeated release does not release a later claim', async t => {
  const id = await acceptEmail(world, account)
  const [first] = await claim(id)
  const released = { ...first, outcome: 'released' as const, reason: 'stopped' }
  t.strictSame(await settle(released), [first.id])
  const [second] = await claim(id)
  t.equal(second.attempt, first.attempt, 'the release did not count as an attempt')
  t.strictSame(await settle(released), [], 'the reply to the first write may have been lost')
  t.equal((await fenceDeliveries(pool, [second], 40)).length, 1)
})

t.test('a delayed release gives an email up after 72 hours', async t => {
  const id = await acceptEmail(world, account)
  await ageEmail(world, id, 72)
  const [stopped] = await claim(id)
  await settle({ ...stopped, outcome: 'released', reason: 'The worker stopped.' })
  shows(t, await readEmail(world, account, id), { status: 'queued', queue: [{ reason: 'The worker stopped.' }] })
  const [broken] = await claim(id)
  await settle({ ...broken, outcome: 'released', reason: 'The key is broken.', delay: 10 })
  const reason = 'Given up after 72 hours. The key is broken.'
  shows(t, await readEmail(world, account, id), { status: 'failed', events: [{ type: 'failed', reason }] })
})

t.test('held email that a person retries is retried for another 72 hours', async t => {
  for (const [outcome, delay] of Object.entries({ deferred: 60, released: 3 })) {
    const id = await acceptEmail(world, account)
    const [held] = await claim(id)
    await settle({ ...held, outcome: 'in_doubt', reason: 'no reply', hold: true })
    await ageEmail(world, id, 96)
    t.equal(await decideDoubts(pool, { account_id: account.id, email_id: id }, 'retry'), 1)
    const [again] = await claim(id)
    await settle({ ...again, outcome: outcome as 'deferred' | 'released', reason: 'later', delay })
    shows(t, await readEmail(world, account, id), { queue: [{ state: 'queued' }] }, outcome)
  }
})

t.test('mail in doubt has arrived if its recipient unsubscribes by it', async t => {
  for (const [by, state] of Object.entries({ 'its own link': 'delivered', 'another email': 'suppressed' })) {
    const [token] = await claim(await acceptEmail(world, account, { to: 'Ann@y.com' }))
    await settle({ ...token, outcome: 'in_doubt', reason: 'no reply', delay: 900 })
    const { email_id } = by === 'its own link' ? token : { email_id: await acceptEmail(world, account) }
    const event = { address: 'ann@y.com', contact_id: null, topic_id: null }
    await pool.transaction(tx => insertUnsubscribedEvent(tx, { account_id: account.id, email_id }, event))
    await settle({ ...token, outcome: 'resumed' })
    const [again] = await claim(token.email_id)
    await settle({ ...again, outcome: 'suppressed', reason: 'The recipient has unsubscribed.' })
    const email = await readEmail(world, account, token.email_id)
    const since = state === 'delivered' ? ['unsubscribed', 'sent', 'delivered'] : ['suppressed']
    shows(
      t,
      email.events.map(event => event.type),
      ['in_doubt', ...since],
      by,
    )
  }
})

t.test('mail in doubt is sent again only once, and only if its worker says so', async t => {
  const next_at = async (id: string) =>
    (await pool.pg.query('SELECT next_at FROM deliveries WHERE id = $1', [id])).rows[0].next_at
  const [silent] = await claim(await acceptEmail(world, account))
  await settle({ ...silent, outcome: 'in_doubt', reason: 'no reply', delay: 900 })
  t.equal(await next_at(silent.id), null, 'a person decides')

  const [token] = await claim(await acceptEmail(world, account))
  await settle({ ...token, outcome: 'in_doubt', reason: 'no reply', delay: 900, hold: false })
  t.type(await next_at(token.id), Date)
  await settle({ ...token, outcome: 'resumed' })
  const [again] = await claim(token.email_id)
  await settle({ ...again, outcome: 'in_doubt', reason: 'no reply', delay: 900, hold: false })
  t.equal(await next_at(token.id), null, 'a person decides')
})

t.test('a delivery in doubt is settled by any later result but another doubt', async t => {
  for (const [outcome, state] of Object.entries({ delivered: 'delivered', bounced: 'bounced', deferred: 'queued' })) {
    const [token] = await claim(await acceptEmail(world, account, { to: `${outcome}@y.com` }))
    await settle({ ...token, outcome: 'in_doubt', reason: 'no reply', delay: 900, hold: false })
    t.strictSame(await settle({ ...token, outcome: 'in_doubt', reason: 'lost', delay: 900, hold: true }), [])
    t.strictSame(await settle({ ...token, outcome: 'released' }), [])
    shows(t, await readEmail(world, account, token.email_id), { status: 'sent', queue: [{ state: 'in_doubt' }] })
    const late = outcome as 'delivered' | 'bounced' | 'deferred'
    t.strictSame(await settle({ ...token, outcome: late, reply: '1 2 3', delay: 60, suppression_id: uuid() }), [
      token.id,
    ])
    const { rows } = await pool.pg.query('SELECT state FROM deliveries WHERE id = $1', [token.id])
    t.strictSame(rows, [{ state }])
  }
})

t.test('one statement settles many results and suppresses each address once', async t => {
  const to = Array.from({ length: 50 }, (_, i) => `u${i}@y.com`)
  const ids = await Promise.all([1, 2, 3].map(() => acceptEmail(world, account, { to, cc: ['u1@Y.com', 'U1@y.com'] })))
  const tokens = (await Promise.all(ids.map(claim))).flat()
  t.equal(tokens.length, 150, 'U1 and u1 are one recipient')
  const bounced = tokens.map(token => ({
    ...token,
    outcome: 'bounced' as const,
    suppression_id: uuid(),
    reply: '550 no',
  }))
  t.equal((await settleDeliveries(pool, bounced)).length, 150)
  for (const id of ids) shows(t, await readEmail(world, account, id), { status: 'bounced', queue: undefined })
  const { rows } = await pool.pg.query(
    `SELECT count(*)::int, count(DISTINCT address)::int AS addresses FROM suppressions
    WHERE account_id = $1 AND address LIKE 'u%' AND reason = 'bounce' AND cause = '550 no'`,
    [account.id],
  )
  t.strictSame(rows, [{ count: 50, addresses: 50 }])
})

t.test('a bounce keeps a complaint as the reason, and the later end', async t => {
  const to = ['k1', 'k2', 'k3', 'k4', 'k5', 'k6'].map(name => `${name}@y.com`)
  const ids = [await acceptEmail(world, account, { to }), await acceptEmail(world, account, { to })]
  const tokens = (await Promise.all(ids.map(claim))).flat()
  const entries = [
    ['k1@y.com', 'complaint', '2999-01-01T00:00:00Z'],
    ['k2@y.com', 'complaint', null],
    ['k3@y.com', 'complaint', '2020-01-01T00:00:00Z'],
    ['k4@y.com', 'manual', '2999-01-01T00:00:00Z'],
  ] as const
  const rows = entries.map(([address, reason, expires_at]) => ({ id: uuid(), address, reason, expires_at }))
  await pool.transaction(tx => upsertSuppressions(tx, account.id, rows))
  // One of the last two mailboxes was full before it was gone, and the other after that.
  const full = (token: Claimed) =>
    token.recipient === (token.email_id === ids[0] ? 'k5@y.com' : 'k6@y.com') && {
      bounce: { type: 'Transient' as const, subType: 'MailboxFull' as const, message: '552 full', diagnosticCode: [] },
    }
  const bounced = { outcome: 'bounced' as const, reply: '550 no' }
  await settleDeliveries(
    pool,
    tokens.map(token => ({ ...token, ...bounced, ...full(token), suppression_id: uuid() })),
  )
  const { rows: stored } = await pool.pg.query(
    `SELECT address, reason, expires_at FROM suppressions WHERE account_id = $1 AND address LIKE 'k%' ORDER BY address`,
    [account.id],
  )
  t.strictSame(
    stored,
    to.map((address, n) => ({ address, reason: n < 2 ? 'complaint' : 'bounce', expires_at: null })),
  )
})

type Claimed = Awaited<ReturnType<typeof claimDeliveries>>[number]

async function claim(email_id: string): Promise<[Claimed, ...Claimed[]]> {
  const options = { lease_owner: uuid(), lease_seconds: 40, limit: 100, email_ids: [email_id] }
  const [first, ...others] = await claimDeliveries(pool, options)
  if (!first) throw new Error('nothing was claimed')
  return [first, ...others]
}

function settle(result: SettledDelivery): Promise<string[]> {
  return settleDeliveries(pool, [result])
}
