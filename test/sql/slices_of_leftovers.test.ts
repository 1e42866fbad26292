import t from 'tap'
import { newId } from '#lib/ids.ts'
import { deleteRuns } from '#sql/automations/definitions/clear_runs.ts'
import { deleteContactsOfDomain } from '#sql/contacts/leftovers.ts'
import { openPlannedPool } from '#test/support/database/plans.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const OTHERS = 30_000
const COUNT = 10_000

const opened = await openWorld(t)
const { pool, statements } = await openPlannedPool(t, opened)
const { pg } = opened.pool
const { id: account_id, domain_id } = await newAccount(opened)

/** Statements since the last call that read most rows of others. */
const wasteful = () => statements.splice(0).filter(({ scanned, discarded }) => scanned > 5_000 || discarded > 5_000)

t.test('contacts of a deleted domain are deleted without reading those of other domains', async t => {
  const deleted = newId()
  for (const [domain, count] of [
    [domain_id, OTHERS],
    [deleted, COUNT],
  ]) {
    await pg.query(
      `INSERT INTO contacts (account_id, id, domain_id, email, source)
       SELECT $1, gen_random_uuid(), $2, n || '@b.com', 'api' FROM generate_series(1, $3::integer) AS n`,
      [account_id, domain, count],
    )
  }
  await pg.query('ANALYZE')
  statements.length = 0
  t.equal(await deleteContactsOfDomain(pool, { account_id, id: deleted }, 100), 100)
  t.same(wasteful(), [])
})

t.test('runs of a deleted automation are deleted without reading those of others', async t => {
  const deleted = newId()
  for (const [automation, count] of [
    [newId(), OTHERS],
    [deleted, COUNT],
  ]) {
    await pg.query(
      `INSERT INTO automation_runs (account_id, id, automation_id, version, domain_id, contact_id, contact_email, reentry, status, due_at,
         step, payload)
       SELECT $1, gen_random_uuid(), $2, 1, $3, gen_random_uuid(), 'a@b.com', 'always', 'completed', NULL, 1, '{}'
       FROM generate_series(1, $4::integer)`,
      [account_id, automation, domain_id, count],
    )
  }
  await pg.query('ANALYZE')
  statements.length = 0
  t.equal(await pool.transaction(tx => deleteRuns(tx, { account_id, id: deleted }, 100)), 100)
  t.same(wasteful(), [])
})
