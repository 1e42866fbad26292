import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { startRuns, storeAutomation } from '#test/support/automation_runs.ts'
import { addContacts, queueCampaign, sendUntil } from '#test/support/campaigns.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { openPlannedPool } from '#test/support/database/plans.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const COUNT = 400
/** A statement that compares all rows of a list with all discards 160,000, and with a batch of 100 emails 9,900. */
const MOST_DISCARDED = 5_000

const ENVIRONMENT = { BASE_URL: 'https://mail.acme.com', MAIL_TRANSPORT: 'capture' }

const opened = await openWorld(t, ENVIRONMENT)
const { pool, statements } = await openPlannedPool(t, opened)
const world = { ...opened, pool }
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world)

const addresses = (name: string) => Array.from({ length: COUNT }, (_, n) => `${name}${n}@d${n % 4}.com`)

async function post(path: string, body: object): Promise<void> {
  const { status, text } = await api.request('POST', `/api${path}`, { body })
  if (status >= 300) throw new Error(text)
}

/** Statements since the last call that compared all rows with all. */
const quadratic = (recorded = statements) => recorded.splice(0).filter(({ discarded }) => discarded > MOST_DISCARDED)

t.before(() => post('/webhooks', { endpoint: 'https://hooks.acme.com/all', events: ['*'] }))

t.test('a campaign looks up each recipient by its key', async t => {
  await addContacts(world, account, addresses('reader'))
  await sendUntil(work, await queueCampaign(world, account))
  t.ok(statements.length > 100, `${statements.length} statements`)
  t.same(quadratic(), [])
})

t.test('a campaign does so too if plans were made while there were few emails', async t => {
  const young = await openWorld(t, ENVIRONMENT)
  const planned = await openPlannedPool(t, young, 3) // few connections, so that each has made its plans
  const world = { ...young, pool: planned.pool }
  const [work, account] = [openWork(t, world), await newAccount(world)]
  await addContacts(world, account, addresses('early').slice(0, 12))
  await sendUntil(work, await queueCampaign(world, account))
  await planned.pool.pg.query('ANALYZE')
  for (let n = 0; n < 6; n++) await sendUntil(work, await queueCampaign(world, account))
  await addContacts(world, account, addresses('reader'))
  planned.statements.splice(0)
  await sendUntil(work, await queueCampaign(world, account))
  // Others are planned each time, for the few rows that there are here.
  const loads = planned.statements.filter(({ text }) => text.includes('c.rendered_size'))
  t.ok(loads.length > 0)
  t.same(
    loads.filter(({ scanned }) => scanned > 0),
    [],
    'the emails to send are loaded by key',
  )
  t.same(quadratic(planned.statements), [])
})

t.test('a page of the emails of a campaign reads no more than the page', async t => {
  const { campaign_id } = await queueCampaign(world, account)
  await sendUntil(work, { account_id: account.id, campaign_id })
  await pool.pg.query('ANALYZE')
  statements.splice(0)
  const { body } = await api.request('GET', `/api/emails?campaign_id=${campaign_id}&limit=2`)
  t.equal(body.data.length, 2)
  const [list, ...others] = statements.filter(({ text }) => text.includes('email_search'))
  t.strictSame(others, [])
  t.ok(list && list.passed < 20, `${list?.passed} rows`)
})

t.test('a batch looks up each contact by its key', async t => {
  // Postgres makes its general plan with the sixth call.
  for (let n = 0; n < 8; n++) {
    const contacts = addresses('batch').map(email => ({ email, first_name: `Ann ${n}` }))
    await post('/contacts/batch', { contacts })
  }
  t.same(quadratic(), [])
})

t.test('an import looks up each contact by its key', async t => {
  const imports = new Imports(api, account.key, work.importer)
  for (let n = 0; n < 2; n++) {
    const lines = ['email,first_name', ...addresses('import').map(address => `${address},Bo ${n}`)]
    shows(t, await imports.ofText(lines.join('\n')), { status: 'completed' })
  }
  t.same(quadratic(), [])
})

t.test('a batch looks up each email by its key', async t => {
  const email = { from: `a@${account.domain}`, subject: 'Hello', text: 'Hello' }
  const emails = addresses('batch').map(to => ({ ...email, to }))
  await post('/emails/batch', emails.slice(0, 100))
  await work.sender.idle()
  t.same(quadratic(), [])
})

t.test('an automation looks up each run by its key', async t => {
  const contact_ids = await addContacts(world, account, addresses('runner'))
  const automation = await storeAutomation(world, account, [
    { type: 'contact_update', config: { last_name: 'Lee' } },
    { type: 'send_email', config: { from: `a@${account.domain}`, subject: 'Hello', text: 'Hello' } },
    { type: 'delay', config: { duration: '3 days' } },
  ])
  await startRuns(world, account, automation, contact_ids)
  for (let n = 0; n < 10; n++) await work.automations.advance()
  const { rows } = await pool.pg.query('SELECT count(*)::int FROM emails WHERE automation_id = $1', [automation])
  t.same(rows, [{ count: COUNT }])
  await work.sender.idle()
  t.same(quadratic(), [])
})
