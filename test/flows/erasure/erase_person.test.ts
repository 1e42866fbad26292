import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { erasePerson } from '#flows/erasure/erase_person.ts'
import { newId } from '#lib/ids.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { openPlannedPool } from '#test/support/database/plans.ts'
import { ROOT } from '#test/support/root.ts'
import { addOtherDomain, newAccount, openWorld } from '#test/support/world.ts'

const OTHERS = 20_000
/** As in slices_of_leftovers.test.ts. */
const MOST_READ = 5_000

const opened = await openWorld(t)
const { pool, statements } = await openPlannedPool(t, opened)
const { pg } = opened.pool
const account = await newAccount(opened)
const { id: account_id, domain_id } = account
const person = 'gone@b.com'

/** Stores what is left of a contact that got a campaign and ran through an automation. */
async function leave(contact_ids: string[], emails: string[]): Promise<void> {
  const campaign = newId()
  const values = [account_id, campaign, domain_id, contact_ids, emails]
  await pg.query('INSERT INTO campaigns (account_id, id, domain_id) VALUES ($1, $2, $3)', values.slice(0, 3))
  await pg.query(
    `INSERT INTO campaign_recipients (account_id, campaign_id, contact_id, email, state)
     SELECT $1, $2, c.id, c.email, 'x' FROM unnest($3::uuid[], $4::text[]) AS c(id, email)`,
    [account_id, campaign, contact_ids, emails],
  )
  await pg.query(
    `INSERT INTO automation_runs (account_id, id, automation_id, version, domain_id, contact_id, contact_email, status, due_at)
     SELECT $1, gen_random_uuid(), $2, 1, $3, c.id, c.email, 'completed', NULL
     FROM unnest($4::uuid[], $5::text[]) AS c(id, email)`,
    values,
  )
}

const leftOf = async (email: string) => {
  const { rows } = await pg.query(
    `SELECT (SELECT count(*)::int FROM campaign_recipients WHERE email = $1) AS recipients,
       (SELECT count(*)::int FROM automation_runs WHERE contact_email = $1) AS runs,
       (SELECT count(*)::int FROM former_contacts WHERE email_hash = sha256(convert_to($1, 'UTF8'))) AS former`,
    [email],
  )
  return rows[0]
}

const erase = () =>
  erasePerson({ pool, config: { BASE_URL: 'http://127.0.0.1' } }, account_id, { domain_id, email: person })

t.before(async () => {
  const emails = Array.from({ length: OTHERS }, (_, n) => `other${n}@b.com`)
  await leave(await addContacts(opened, account, emails), emails)
})

t.test('a deleted contact is erased without reading what is left of others', async t => {
  const [id = ''] = await addContacts(opened, account, [person])
  await leave([id], [person])
  const other = await addOtherDomain(opened, account)
  const file = newId()
  await pg.query(`INSERT INTO contact_imports (account_id, id, domain_id, options) VALUES ($1, $2, $3, '{}')`, [
    ...[account_id, file, other.id],
  ])
  await pg.query(
    `INSERT INTO import_errors SELECT $1, $2, n, n, 'wrong', 'failed', 'x' FROM generate_series(1, $3::integer) AS n`,
    [account_id, file, OTHERS],
  )
  await pg.query('DELETE FROM contacts WHERE id = $1', [id])
  await pg.query('ANALYZE')
  t.strictSame(await leftOf(person), { recipients: 1, runs: 1, former: 1 })
  statements.length = 0
  await erase()
  t.ok(statements.length > 10, `${statements.length} statements`)
  t.same(
    statements.filter(({ scanned, discarded, passed }) => Math.max(scanned, discarded, passed) > MOST_READ),
    [],
  )
  t.strictSame(await leftOf(person), { recipients: 0, runs: 0, former: 0 })
  t.strictSame(await leftOf('other7@b.com'), { recipients: 1, runs: 1, former: 0 })
})

t.test('a contact that was deleted by an earlier release is found after the migration', async t => {
  for (const column of ['recipients', 'runs']) {
    const [id = ''] = await addContacts(opened, account, [person])
    await leave([id], [person])
    await pg.query(
      column === 'runs'
        ? 'DELETE FROM campaign_recipients WHERE email = $1'
        : 'DELETE FROM automation_runs WHERE contact_email = $1',
      [person],
    )
    await pg.query('DELETE FROM contacts WHERE id = $1', [id])
    await pg.query('DELETE FROM former_contacts')
    const migration = await readFile(join(ROOT, 'sql/migrations/0073_earlier_former_contacts.sql'), 'utf8')
    await pg.query(migration)
    await pg.query(migration)
    const { rows } = await pg.query('SELECT contact_id FROM former_contacts')
    t.strictSame(rows, [{ contact_id: id }], column)
    await erase()
    t.strictSame(await leftOf(person), { recipients: 0, runs: 0, former: 0 })
  }
})

t.test('nothing is kept of an erased contact', async t => {
  const [id = ''] = await addContacts(opened, account, [person])
  await leave([id], [person])
  await erase()
  t.strictSame(await leftOf(person), { recipients: 0, runs: 0, former: 0 })
})
