import t from 'tap'
import { listEmails } from '#sql/sending/search/email_list.ts'
import { openPlannedPool } from '#test/support/database/plans.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

/** Emails of a campaign and of an automation, with one of neither after every 1,500. */
const COUNT = 9_000
const EACH = 1_500

const opened = await openWorld(t)
const { pool, statements } = await openPlannedPool(t, opened)
const { id: account_id } = await newAccount(opened)
const { rows } = await opened.pool.pg.query(
  `INSERT INTO emails (account_id, id, message_id, sender, "to", cc, bcc, reply_to, subject, tags, status, last_event,
     campaign_id, automation_id)
   SELECT $1, uuidv7(n * interval '1 second' - interval '1 day'), n, 'a@b.com', '{}', '{}', '{}', '{}', '', '[]',
     CASE WHEN n % 2 = 0 THEN 'sent' ELSE 'failed' END, 'sent',
     CASE WHEN n % $3 > 0 AND n % 2 = 0 THEN $1::uuid END, CASE WHEN n % $3 > 0 AND n % 2 = 1 THEN $1::uuid END
   FROM generate_series(1, $2::integer) AS n RETURNING id, campaign_id, automation_id`,
  [account_id, COUNT, EACH],
)
const expected = rows.filter(row => !row.campaign_id && !row.automation_id).map(({ id }) => id)
await opened.pool.pg.query('VACUUM ANALYZE emails')

const FIRST = '00000000-0000-0000-0000-000000000000'

t.test('a list of transactional emails steps over those of campaigns and automations, in both directions', async t => {
  expected.reverse()
  const list = async (position: { limit: number; after?: string; before?: string }) => {
    statements.length = 0
    const { data, has_more } = await listEmails(pool, account_id, position, { campaign: 'none' })
    const read = statements.reduce((sum, { passed }) => sum + passed, 0)
    // A part of 250 emails for each one that is found.
    t.ok(statements.length > 3 && read < 4_000, `${read} rows`)
    return { ids: data.map(({ id }) => id), has_more }
  }
  t.equal(expected.length, COUNT / EACH)
  t.strictSame(await list({ limit: 2 }), { ids: expected.slice(0, 2), has_more: true })
  t.strictSame(await list({ limit: 2, after: expected[1] }), { ids: expected.slice(2, 4), has_more: true })
  t.strictSame(await list({ limit: 10 }), { ids: expected, has_more: false })
  t.strictSame(await list({ limit: 2, before: FIRST }), { ids: expected.slice(-2), has_more: true })
  t.strictSame(await list({ limit: 10, before: FIRST }), { ids: expected, has_more: false })
  t.strictSame(await list({ limit: 2, before: expected[2] }), { ids: expected.slice(0, 2), has_more: false })
})
