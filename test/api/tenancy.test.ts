import t from 'tap'
import { v7 as uuid } from 'uuid'
import { resources } from '../../api/app.ts'
import { send_emails } from '../../tasks/send_emails.ts'
import { startApi } from '../api.ts'
import { acceptEmail, openWork } from '../sending.ts'
import { newAccount, openWorld } from '../world.ts'

const world = await openWorld(t)
const mine = await newAccount(world)
const theirs = await newAccount(world)
const api = await startApi(t, world, mine.key)

// One that is sent, with events and a captured message, and one that waits, between two of mine.
await acceptEmail(world, mine)
const sent = await acceptEmail(world, theirs)
const work = openWork(t, world, 'capture')
await send_emails({ email_ids: [sent] }, work)
await work.sender.idle()
const waiting = await acceptEmail(world, theirs, { cc: ['x@example.com'] })
const scheduled = await acceptEmail(world, theirs, { scheduled_at: 'in 2 hours' })
const unknown = uuid() // of the same moment: as a cursor it is the same position
await acceptEmail(world, mine)

const { rows: keys } = await world.pool.pg.query('SELECT id FROM api_keys WHERE account_id = $1', [theirs.id])
const logs = []
for (const { id } of [theirs, mine]) {
  const { rows } = await world.pool.pg.query(
    `INSERT INTO logs (account_id, created_at, method, endpoint, response_status, user_agent)
     VALUES ($1::uuid, now(), 'GET', '/' || $1::uuid, 200, 'test') RETURNING id`,
    [id],
  )
  logs.push(String(rows[0].id))
}
const { rows: deliveries } = await world.pool.pg.query('SELECT id FROM deliveries WHERE email_id = $1', [sent])

/** Ids of theirs for the path of each route that has one: a new route must be added here. */
const foreignIds: Record<string, string[]> = {
  'GET /emails/:id': [sent, waiting, deliveries[0].id],
  'PATCH /emails/:id': [sent, scheduled],
  'POST /emails/:id/cancel': [sent, scheduled],
  'GET /logs/:id': logs.slice(0, 1),
  'PUT /api-keys/:id': [keys[0].id],
  'PATCH /api-keys/:id': [keys[0].id],
  'DELETE /api-keys/:id': [keys[0].id],
}

const routes = resources
  .flatMap(resource => resource.stack)
  .flatMap(({ path, methods }) => methods.map(method => ({ method, path: String(path) })))
  .filter(({ method }) => method !== 'HEAD')

const lists = routes.filter(({ method, path }) => method === 'GET' && !path.includes(':')).map(({ path }) => path)

t.test('every route with an id in its path is tried', async t => {
  const withId = routes.filter(({ path }) => path.includes(':')).map(({ method, path }) => `${method} ${path}`)
  t.strictSame(Object.keys(foreignIds).sort(), withId.sort())
})

async function ask(method: string, path: string) {
  const { status, text } = await api.request(method, `/api${path}`, method === 'GET' ? {} : { body: {} })
  return { status, text }
}

// First: the log of requests shows whatever ids were asked for.
t.test('a list shows nothing of another account', async t => {
  for (const path of lists) {
    const { text } = await ask('GET', path)
    t.match(text, /"data":\[\{/)
    for (const id of [theirs.id, theirs.domain, theirs.domain_id, sent, waiting, keys[0].id]) {
      t.notMatch(text, id, path)
    }
  }
})

t.test('another account’s id answers byte for byte what an unknown id answers, and changes nothing', async t => {
  const before = await checksum(theirs.id)
  for (const [route, ids] of Object.entries(foreignIds)) {
    const [method = '', path = ''] = route.split(' ')
    const answer = await ask(method, path.replace(/:\w+/, unknown))
    t.match(answer.status, /^40[34]$/)
    for (const id of ids) {
      t.strictSame(await ask(method, path.replace(/:\w+/, id)), answer, `${route} ${id}`)
      t.strictSame(await ask(method, path.replace(/:\w+/, id.toUpperCase())), answer, `${route} ${id}`)
    }
  }
  t.equal(await checksum(theirs.id), before)
})

t.test('another account’s id is a cursor like any other', async t => {
  for (const path of lists) {
    for (const cursor of ['after', 'before']) {
      t.strictSame(await ask('GET', `${path}?${cursor}=${waiting}`), await ask('GET', `${path}?${cursor}=${unknown}`))
    }
  }
})

t.test('mail from another account’s domain is refused in the words for a domain that nobody has', async t => {
  const answers = []
  for (const domain of [theirs.domain, 'nobody-has-this.com']) {
    const body = { from: `a@${domain}`, to: 'b@b.com', subject: 'Hi' }
    const { status, text } = await api.request('POST', '/api/emails', { body })
    answers.push({ status, text: text.replace(domain, 'DOMAIN') })
  }
  t.match(answers[0], { status: 422 })
  t.strictSame(answers[0], answers[1])
})

t.test('another account’s suppression list drops nothing of mine', async t => {
  await world.pool.pg.query(
    `INSERT INTO suppressions (account_id, id, address, reason) VALUES ($1, gen_random_uuid(), 'b@b.com', 'manual')`,
    [theirs.id],
  )
  const send = (key: string, domain: string) =>
    api.request('POST', '/api/emails', { key, body: { from: `a@${domain}`, to: 'b@b.com', subject: 'Hi' } })
  t.match(await send(mine.key, mine.domain), { status: 200 })
  t.match(await send(theirs.key, theirs.domain), { status: 422 })
})

/** Of all rows of an account, in whatever table. */
async function checksum(account_id: string): Promise<string> {
  const { pg } = world.pool
  const { rows: tables } = await pg.query(
    `SELECT table_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name = 'account_id' ORDER BY 1`,
  )
  const rows = tables.map(({ name }) => `SELECT '${name}' || t::text AS row FROM "${name}" t WHERE account_id = $1`)
  const sum = `SELECT count(*) || ' ' || md5(string_agg(row, '|' ORDER BY row)) AS sum FROM (${rows.join(' UNION ALL ')})`
  return (await pg.query(sum, [account_id])).rows[0].sum
}
