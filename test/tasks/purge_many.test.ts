import t from 'tap'
import { createBlobs } from '#flows/files/blobs.ts'
import { forgetExpiredEmails } from '#sql/sending/emails.ts'
import { openPlannedPool } from '#test/support/database/plans.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const opened = await openWorld(t)
const { pool, statements } = await openPlannedPool(t, opened)
const { pg } = opened.pool
const { id: account_id } = await newAccount(opened)

/** Blobs of raw messages, of which every `unused`-th has none, from the smallest key to the largest. */
async function addBlobs(count: number, unused: number): Promise<void> {
  await pg.query(
    `INSERT INTO blobs (account_id, id, store, sha256, size, used_at, data)
     SELECT $1, lpad(to_hex(n), 32, '0')::uuid, 'postgres', sha256(n::text::bytea), 1, now() - interval '2 days', 'x'
     FROM generate_series(1, $2) AS n`,
    [account_id, count],
  )
  await pg.query(
    `INSERT INTO received_emails (account_id, id, state, mail_from, received_for, client, sha256, size, raw_blob_id)
     SELECT account_id, id, 'parsed', 'a@b.com', '{}', '{}', sha256, 1, id
     FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM blobs) b WHERE n % $1 > 0`,
    [unused],
  )
  await pg.query('ANALYZE')
}

t.test('unused blobs among many used ones are deleted by statements that read a limited number of them', async t => {
  await addBlobs(20_000, 100)
  statements.length = 0
  t.equal(await createBlobs({ ...opened, pool }).purge(), 200)
  t.ok(statements.length >= 5, `${statements.length} statements`)
  t.same(
    statements.filter(({ passed }) => passed > 10_000),
    [],
  )
  const { rows } = await pg.query('SELECT count(*)::int FROM blobs')
  t.same(rows, [{ count: 19_800 }])
  t.equal(await createBlobs({ ...opened, pool }).purge(), 0)
})

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
