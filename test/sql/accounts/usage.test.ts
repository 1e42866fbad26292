import t from 'tap'
import { newId } from '#lib/ids.ts'
import { findWindowUsage } from '#sql/accounts/usage.ts'
import { openPlannedPool } from '#test/support/database/plans.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

/** One of three is counted. */
const COUNT = 6_000

const opened = await openWorld(t)
const { pool, statements } = await openPlannedPool(t, opened)
const { pg } = opened.pool

t.test('usage without a quota is counted by indexes, without reading deliveries', async t => {
  const { id: account_id } = await newAccount(opened)
  const email_id = newId()
  await pg.query(
    `INSERT INTO emails (account_id, id, message_id, sender, "to", cc, bcc, reply_to, subject, tags, status, last_event)
     VALUES ($1, $2, 'x', 'a@b.com', '{}', '{}', '{}', '{}', '', '[]', 'sent', 'sent')`,
    [account_id, email_id],
  )
  await pg.query(
    `INSERT INTO deliveries (account_id, id, email_id, recipient, destination, state)
     SELECT $1, uuidv7(), $2, n || '@b.com', 'b.com', (ARRAY['delivered', 'suppressed', 'canceled'])[n % 3 + 1]
     FROM generate_series(1, $3::integer) AS n`,
    [account_id, email_id, COUNT],
  )
  await pg.query('VACUUM ANALYZE deliveries')
  statements.length = 0
  for (const window of ['day', 'month'] as const) {
    shows(t, await findWindowUsage(pool, account_id, window), { sent: COUNT / 3, received: 0 })
  }
  t.ok(statements.length > 4, `${statements.length} statements`)
  t.same(
    statements.filter(({ scanned, discarded }) => scanned > COUNT / 6 || discarded > COUNT / 6),
    [],
  )
})
