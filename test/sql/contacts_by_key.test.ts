import t, { type Test } from 'tap'
import { startApi } from '#test/support/api.ts'
import { queueCampaign, sendUntil } from '#test/support/campaigns.ts'
import { openPlannedPool } from '#test/support/database/plans.ts'
import { openWork } from '#test/support/sending.ts'
import { makeRecipient, makeTopic } from '#test/support/unsubscribing.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

/** Contacts of an account that is not in the statistics, and of another one that is. */
const COUNT = 3_000
const OTHERS = 40_000
/** A statement that reads all contacts or opt-outs of the account discards nearly 3,000 or 500. */
const MOST_DISCARDED = 100

/** Postgres checks foreign keys with statements of its own, whose plans are good only from the sixth time on a connection. */
const FOREIGN_KEY_CHECK = 'SELECT 1 FROM ONLY'

const opened = await openWorld(t, { MAIL_TRANSPORT: 'capture' })
const { pool, statements } = await openPlannedPool(t, opened)
const world = { ...opened, pool }

async function fill({ id, domain_id }: TestAccount, contacts: number): Promise<void> {
  await opened.pool.pg.query(
    `INSERT INTO contacts (account_id, id, domain_id, email, source)
     SELECT $1, gen_random_uuid(), $2, 'person' || n || '@b.com', 'api' FROM generate_series(1, $3) AS n`,
    [id, domain_id, contacts],
  )
  await opened.pool.pg.query(
    `INSERT INTO contact_optouts (account_id, domain_id, email_hash)
     SELECT $1, $2, sha256(convert_to('left' || n || '@b.com', 'UTF8')) FROM generate_series(1, 500) AS n`,
    [id, domain_id],
  )
}

/** Returns the statements that read rows in vain while everything is done that finds contacts by an address or an id. */
async function wasteful(account: TestAccount): Promise<unknown[]> {
  const api = await startApi(t, world, account.key)
  const topic_id = await makeTopic(opened, account, { name: 'News' })
  const recipient = await makeRecipient(opened, account, 'person7@b.com')
  const stranger = await makeRecipient(opened, account, 'stranger@b.com')
  statements.length = 0
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await api.request(method, path, body ? { body } : {})
    if (answer.status >= 300) throw new Error(answer.text)
    return answer.body
  }
  const { id } = await ask('POST', '/api/contacts', { email: 'person9@b.com', first_name: 'Ann' })
  await ask('POST', '/api/contacts', { email: 'left1@b.com' })
  const batch = ['new', 'left2', 'left3', 'person5'].map(name => ({ email: `${name}@b.com` }))
  await ask('POST', '/api/contacts/batch', { domain: account.domain, contacts: batch })
  await ask('GET', `/api/contacts/${id}`)
  await ask('GET', '/api/contacts/person11@b.com')
  await ask('PATCH', `/api/contacts/${id}`, { first_name: 'Eve' })
  await ask('PATCH', '/api/contacts/person13@b.com', { last_name: 'Fox', domain: account.domain })
  const segment = await ask('POST', '/api/segments', { name: 'Friends', domain: account.domain })
  await ask('POST', `/api/contacts/${id}/segments/${segment.id}`)
  await ask('PATCH', `/api/contacts/${id}/topics`, [{ id: topic_id, subscription: 'opt_out' }])
  await ask('DELETE', '/api/contacts/person15@b.com')
  for (const to of ['person17@b.com', 'unknown@b.com']) {
    const content = { from: `me@${account.domain}`, subject: 'Hi', html: '<p>Hi</p>', track_opens: true }
    await ask('POST', '/api/emails', { ...content, to, topic_id })
  }
  for (const { path } of [recipient, stranger]) {
    for (const method of ['GET', 'POST']) {
      const body = method === 'POST' ? new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) : null
      const { status } = await fetch(api.url + path, { method, body })
      if (status !== 200) throw new Error(`${method} responded ${status}`)
    }
  }
  return statements
    .splice(0)
    .filter(({ discarded, scanned }) => discarded > MOST_DISCARDED || scanned > MOST_DISCARDED)
    .filter(({ text }) => !text.startsWith(FOREIGN_KEY_CHECK))
}

t.test('contacts of a table without statistics are found by their keys', async t => {
  const account = await newAccount(opened)
  await fill(account, COUNT)
  t.same(await wasteful(account), [])
})

t.test('contacts of an account that the statistics do not know are found by their keys', async t => {
  const other = await newAccount(opened)
  await fill(other, OTHERS)
  await opened.pool.pg.query('ANALYZE')
  const account = await newAccount(opened)
  await fill(account, COUNT)
  t.same(await wasteful(account), [])
})

/** Sends a campaign to new contacts; returns its statements that look at rows in vain. */
async function wastefulMail(t: Test, contacts: number): Promise<unknown[]> {
  const account = await newAccount(opened)
  await fill(account, contacts)
  const work = openWork(t, world)
  statements.length = 0
  await sendUntil(work, await queueCampaign(world, account, { html: '<p>Hi</p>' }))
  t.ok(statements.length > contacts, `${statements.length} statements`)
  // A statement that reads all of 400 contacts for each of them discards 160,000.
  return statements.splice(0).filter(({ discarded }) => discarded > 5_000)
}

t.test('a campaign of an account that the statistics do not know finds each contact by its key', async t => {
  t.same(await wastefulMail(t, 400), [])
})

t.test('a campaign finds each delivery by its key with plans that were made when there was one', async t => {
  await opened.pool.pg.query('TRUNCATE emails, campaign_recipients CASCADE')
  await wastefulMail(t, 1)
  await opened.pool.pg.query('ANALYZE')
  await wastefulMail(t, 1)
  t.same(await wastefulMail(t, 400), [])
})
