import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { suppress } from '#test/support/database/states.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const from = `ann@${account.domain}`

const send = (fields: Record<string, unknown>) =>
  api.request('POST', '/api/emails', { body: { from, subject: 'Hi', ...fields } })

/** Returns the stored deliveries of an email. */
async function deliveries(id: string) {
  const { rows } = await world.pool.pg.query(
    'SELECT recipient, destination, state, reason FROM deliveries WHERE email_id = $1 ORDER BY id',
    [id],
  )
  return rows
}

async function counts() {
  const { rows } = await world.pool.pg.query(
    `SELECT (SELECT count(*) FROM emails) AS emails, (SELECT count(*) FROM deliveries) AS deliveries,
      (SELECT count(*) FROM graphile_worker.jobs) AS jobs`,
  )
  return rows[0]
}

const addresses = (count: number, at: string) => Array.from({ length: count }, (_, i) => `r${i}@${at}`)
const allSuppressed = { statusCode: 422, name: 'validation_error', message: 'All `to` recipients are suppressed.' }
const isReserved = { state: 'suppressed', reason: 'The domain is reserved for documentation and tests.' }
const isListed = { state: 'suppressed', reason: 'The address is on the suppression list.' }

t.test('`to`, `cc` and `bcc` each have at most 50 addresses', async t => {
  const full = { to: addresses(50, 'to.com'), cc: addresses(50, 'cc.com'), bcc: addresses(50, 'bcc.com') }
  const { body } = await send(full)
  t.equal((await deliveries(body.id)).length, 150)

  const before = await counts()
  for (const field of ['to', 'cc', 'bcc']) {
    const answer = await send({ ...full, [field]: addresses(51, 'b.com') })
    const message = `\`${field}\` must have ${field === 'to' ? '1 to' : 'at most'} 50 addresses.`
    t.match(answer.body, { statusCode: 422, name: 'validation_error', message })
  }
  t.match((await send({ to: [] })).body, { statusCode: 422, name: 'validation_error', message: /`to`/ })
  t.strictSame(await counts(), before)
})

t.test('an address repeated in any field or spelling gets one delivery', async t => {
  const { body } = await send({
    to: ['Bob <bob@b.com>', 'bob@b.com', 'bob@B.COM'],
    cc: ['"Bobby" <bob@b.com>', 'carl@bücher.de'],
    bcc: ['bob@b.com', 'carl@xn--bcher-kva.de'],
  })
  t.strictSame(
    (await deliveries(body.id)).map(({ recipient, destination }) => [recipient, destination]),
    [
      ['bob@b.com', 'b.com'],
      ['carl@xn--bcher-kva.de', 'xn--bcher-kva.de'],
    ],
  )
})

t.test('an email whose `to` recipients are all suppressed is refused and not stored', async t => {
  await suppress(world, account.id, 'gone@b.com')
  const before = await counts()
  for (const to of [
    ...[
      'x@example.com',
      'x@EXAMPLE.NET',
      'x@a.b.example.org',
      'x@a.test',
      'x@a.invalid',
      'x@a.localhost',
      'x@a.example',
    ],
    ...['gone@b.com', 'GONE@B.com', ['gone@b.com', 'x@example.com']],
  ]) {
    t.match((await send({ to, cc: 'fine@b.com', bcc: 'fine@c.com' })).body, allSuppressed, String(to))
  }
  t.strictSame(await counts(), before)
})

t.test('an email to a reserved domain is refused with the domain in the error', async t => {
  const reserved = 'The domain example.com is reserved for documentation and tests.'
  t.equal((await send({ to: 'x@example.com', cc: 'y@a.test' })).body.message, `${allSuppressed.message} ${reserved}`)
  t.equal((await send({ to: 'gone@b.com', cc: 'y@a.test' })).body.message, allSuppressed.message)
})

t.test('domains that only look reserved are accepted', async t => {
  for (const to of ['x@example.co', 'x@my-example.com', 'x@test.com', 'x@example.com.br', 'x@invalid.org']) {
    t.match(await send({ to }), { status: 200 }, to)
  }
})

t.test('suppressed recipients stay in the headers, and the others get the email', async t => {
  await suppress(world, account.id, 'left@b.com')
  const { body } = await send({
    to: ['fine@b.com', 'Left@b.com'],
    cc: ['x@example.com'],
    bcc: ['x@a.test', 'LEFT@b.com', 'Fine@b.com'],
  })

  shows(t, await deliveries(body.id), [
    { recipient: 'fine@b.com', state: 'queued', reason: null },
    { recipient: 'Left@b.com', ...isListed },
    { recipient: 'x@example.com', ...isReserved },
    { recipient: 'x@a.test', ...isReserved },
  ])
  shows(t, (await api.request('GET', `/api/emails/${body.id}`)).body, {
    status: 'queued',
    to: ['fine@b.com', 'Left@b.com'],
    cc: ['x@example.com'],
    events: [
      { type: 'suppressed', recipient: 'Left@b.com', reason: isListed.reason },
      { type: 'suppressed', recipient: 'x@example.com', reason: isReserved.reason },
      { type: 'suppressed', recipient: 'x@a.test' },
    ],
    queue: [{ recipient: 'fine@b.com' }],
  })
})

t.test('a suppression applies until it expires', async t => {
  await suppress(world, account.id, 'past@b.com', '2020-01-01')
  await suppress(world, account.id, 'future@b.com', '2099-01-01')
  t.match(await send({ to: 'past@b.com' }), { status: 200 })
  t.match((await send({ to: 'future@b.com' })).body, allSuppressed)
})

t.test('simulator addresses are never suppressed or reserved', async t => {
  const { SIMULATOR_DOMAIN } = world.config
  await suppress(world, account.id, `bounced@${SIMULATOR_DOMAIN}`)
  t.match(await send({ to: `bounced@${SIMULATOR_DOMAIN}` }), { status: 200 })

  const config = { ...world.config, SIMULATOR_DOMAIN: 'simulator.test' }
  const other = await startApi(t, { ...world, config }, account.key)
  const body = { from, subject: 'Hi', to: 'delivered@simulator.test', cc: 'x@other.test' }
  const { body: sent } = await other.request('POST', '/api/emails', { body })
  shows(t, await deliveries(sent.id), [{ state: 'queued' }, isReserved])
})
