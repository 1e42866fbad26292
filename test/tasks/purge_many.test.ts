import t from 'tap'
import { forgetExpiredEmails } from '#sql/sending/emails.ts'
import { openPlannedPool } from '#test/support/database/plans.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const opened = await openWorld(t)
const { pool, statements } = await openPlannedPool(t, opened)
const { pg } = opened.pool
const { id: account_id } = await newAccount(opened)

t.test('a statement that forgets expired emails reads only their deliveries', async t => {
  // With many small accounts Postgres takes this one for small, too.
  await pg.query(
    `INSERT INTO accounts (id, name) SELECT gen_random_uuid(), 'small' || n FROM generate_series(1, 300) AS n`,
  )
  await pg.query(
    `INSERT INTO emails (account_id, id, message_id, sender, "to", cc, bcc, reply_to, subject, tags, status, last_event)
     SELECT a.id, uuidv7(n * interval '-1 minute'), n, 'a@b.com', '{}', '{}', '{}', '{}', '', '[]', 'delivered', 'delivered'
     FROM accounts a CROSS JOIN LATERAL generate_series(1, CASE a.id WHEN $1 THEN 20000 ELSE 4 END) AS n`,
    [account_id],
  )
  await pg.query(`INSERT INTO email_contents (account_id, email_id, headers) SELECT account_id, id, '{}' FROM emails`)
  await pg.query(
    `INSERT INTO deliveries (account_id, id, email_id, recipient, destination, state)
     SELECT account_id, gen_random_uuid(), id, 'a@b.com', 'b.com', 'delivered' FROM emails`,
  )
  await pg.query('ANALYZE')
  statements.length = 0
  t.equal(await forgetExpiredEmails(pool, 13, 100), 100)
  t.same(
    statements.filter(({ discarded }) => discarded > 5_000),
    [],
  )
})
