import { randomBytes } from 'node:crypto'
import t from 'tap'
import { advanceRuns } from '#flows/automations/engine/advance_runs.ts'
import { advanceSet } from '#flows/automations/engine/advance_set.ts'
import { Advancer } from '#flows/automations/engine/advancer.ts'
import { claimRuns } from '#sql/automations/engine/runs.ts'
import { advance_runs } from '#tasks/advance_runs.ts'
import { passTime, readRun, startRuns, storeAutomation } from '#test/support/automation_runs.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { BASE_URL: 'https://mail.acme.com', MAIL_TRANSPORT: 'capture' })
const { pool } = world

t.test('a run continues after a delay and sends an email', async t => {
  const account = await newAccount(world)
  const [ann] = (await addContacts(world, account, [{ email: 'ann@b.com', first_name: 'Ann' }])) as [string]
  const email = { from: `Acme <hi@${account.domain}>`, subject: 'Hi {{first_name}}', html: '<p>{{event.plan}}</p>' }
  const automation = await storeAutomation(world, account, [
    { type: 'delay', config: { duration: '3 days' } },
    { type: 'send_email', config: email },
  ])
  const [id] = (await startRuns(world, account, automation, [ann], { plan: 'pro' })) as [string]
  const work = openWork(t, world, 'capture')
  await work.automations.advance()
  const waiting = await readRun(world, id)
  shows(t, waiting, {
    status: 'running',
    step: 1,
    seq: 1,
    steps: [{ seq: 1, step: 1, status: 'waiting', error: null }],
  })
  t.equal(waiting.due_at.getTime(), waiting.wait_until.getTime())
  await work.automations.advance()
  shows(t, await readRun(world, id), { status: 'running', seq: 1 })

  await passTime(world, id, '3 days')
  await work.automations.advance()
  const run = await readRun(world, id)
  shows(t, run, { status: 'completed', error: null, due_at: null, seq: 2 })
  const { rows } = await pool.pg.query('SELECT * FROM emails WHERE account_id = $1', [account.id])
  shows(t, rows, [{ automation_id: automation, contact_id: ann, subject: 'Hi Ann', to: ['ann@b.com'] }])
  shows(t, run.steps, [
    { seq: 1, step: 1, status: 'completed', error: null },
    { seq: 2, step: 2, status: 'completed', output: { email_id: rows[0].id }, error: null },
  ])
})

t.test('a worker that dies before its commit leaves no trace of a step', async t => {
  const account = await newAccount(world)
  const [contact] = (await addContacts(world, account, ['dies@b.com'])) as [string]
  const email = { from: `hi@${account.domain}`, subject: 'Hello', text: 'Hello' }
  const automation = await storeAutomation(world, account, [
    { type: 'contact_update', config: { last_name: 'done' } },
    { type: 'send_email', config: email },
  ])
  const [id] = (await startRuns(world, account, automation, [contact])) as [string]
  const work = openWork(t, world, 'capture')
  const dying = pool.transaction(async tx => {
    await advanceSet(tx, work, 1_000, () => {})
    throw new Error('killed')
  })
  await t.rejects(dying, { message: 'killed' })
  shows(t, await readRun(world, id), { status: 'running', seq: 0, steps: [] })
  const emails = 'SELECT count(*)::int AS count FROM emails WHERE automation_id = $1'
  t.equal((await pool.pg.query(emails, [automation])).rows[0].count, 0)
  await work.automations.advance()
  shows(t, await readRun(world, id), { status: 'completed', seq: 2 })
  t.equal((await pool.pg.query(emails, [automation])).rows[0].count, 1)
})

t.test('several workers advance each run once', async t => {
  const account = await newAccount(world)
  const people = Array.from({ length: 60 }, (_, n) => `many${n}@b.com`)
  const contacts = await addContacts(world, account, people)
  const email = { from: `hi@${account.domain}`, subject: 'Hello', text: 'Hello' }
  const automation = await storeAutomation(world, account, [{ type: 'send_email', config: email }])
  await startRuns(world, account, automation, contacts)
  const services = { ...world, log: openWork(t, world, 'capture').log }
  await Promise.all(Array.from({ length: 4 }, () => advanceRuns(services, () => false, 7)))
  const query = `SELECT count(*)::int AS emails, count(DISTINCT contact_id)::int AS contacts FROM emails WHERE automation_id = $1`
  t.strictSame((await pool.pg.query(query, [automation])).rows, [{ emails: 60, contacts: 60 }])
})

t.test('due runs are found by polling', async t => {
  const account = await newAccount(world)
  const [contact] = (await addContacts(world, account, ['polled@b.com'])) as [string]
  const automation = await storeAutomation(world, account, [{ type: 'delay', config: { duration: '1 second' } }])
  const [id] = (await startRuns(world, account, automation, [contact])) as [string]
  const advancer = new Advancer({ ...world, times: { poll_ms: 20 } })
  t.teardown(() => advancer.stop())
  advancer.start()
  await waitUntil(async () => (await readRun(world, id)).status === 'completed', 'the run is over')
})

t.test('the advance_runs job returns before the due runs are done', async t => {
  const account = await newAccount(world)
  const [contact] = (await addContacts(world, account, ['told@b.com'])) as [string]
  const automation = await storeAutomation(world, account, [{ type: 'contact_update', config: { last_name: 'x' } }])
  const [id] = (await startRuns(world, account, automation, [contact])) as [string]
  await advance_runs({}, openWork(t, world, 'capture'))
  shows(t, await readRun(world, id), { status: 'running' })
  await waitUntil(async () => (await readRun(world, id)).status === 'completed', 'the run is over')
})

t.test('a claim reads a limited number of bytes of payloads', async t => {
  const account = await newAccount(world)
  const people = Array.from({ length: 300 }, (_, n) => `large${n}@b.com`)
  const contacts = await addContacts(world, account, people)
  const automation = await storeAutomation(world, account, [{ type: 'contact_update', config: { last_name: 'x' } }])
  const ids = await startRuns(world, account, automation, contacts, { noise: randomBytes(45_000).toString('base64') })
  const claims = [300, 1_000, ids.map(id => ({ account_id: account.id, id }))]
  const claimed = await pool.transaction(async tx => {
    const found: Awaited<ReturnType<typeof claimRuns>>[] = []
    for (const claim of claims) found.push(await claimRuns(tx, claim))
    return found
  })
  t.strictSame(
    claimed.map(({ runs, has_more }) => ({ count: runs.length, has_more })),
    claims.map(() => ({ count: 278, has_more: true })),
  )
  await advanceRuns({ ...world, log: openWork(t, world, 'capture').log })
  const runs = await Promise.all(ids.map(id => readRun(world, id)))
  t.strictSame([...new Set(runs.map(({ status }) => status))], ['completed'])
})
