import t from 'tap'
import { v7 as uuid } from 'uuid'
import { indexEmails, startIndexer } from '#flows/sending/index_emails.ts'
import { listEmails } from '#sql/sending/search/email_list.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const OPTIONS = { size: 4, lag_seconds: -60 }

async function accept(account: TestAccount, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) ids.push(await acceptEmail(world, account, { subject: `Secret ${i}.` }))
  return ids
}

async function find(account: TestAccount, q: string): Promise<string[]> {
  const { data } = await listEmails(pool, account.id, { limit: 100 }, { q })
  return data.map(email => email.id).reverse()
}

async function blocksOf(account: TestAccount) {
  const { rows } = await pool.pg.query('SELECT * FROM email_blocks WHERE account_id = $1 ORDER BY upto', [account.id])
  return rows
}

const checkNow = (account: TestAccount) =>
  pool.pg.query('UPDATE email_block_checks SET check_at = now() WHERE account_id = $1', [account.id])

/** Copies an email under other ids. */
const copy = (id: string, ids: string[]) =>
  pool.pg.query(
    `INSERT INTO emails SELECT (jsonb_populate_record(e, jsonb_build_object('id', n.id))).*
     FROM emails e, unnest($2::uuid[]) AS n(id) WHERE e.id = $1`,
    [id, ids],
  )

const isGapless = (blocks: { above: string; upto: string }[]) =>
  blocks.slice(1).every((block, i) => block.above === blocks[i]?.upto)

t.test('concurrent indexers put every email into exactly one block', async t => {
  const account = await newAccount(world)
  const ids = await accept(account, 23)
  const counts = await Promise.all(Array.from({ length: 5 }, () => indexEmails(pool, OPTIONS)))
  t.equal(
    counts.reduce((sum, count) => sum + count),
    20,
    'the rest waits for a block of its own',
  )
  const blocks = await blocksOf(account)
  t.strictSame(
    blocks.map(block => [block.upto, block.ids]),
    [3, 7, 11, 15, 19].map(i => [ids[i], ids.slice(i - 3, i + 1)]),
  )
  t.ok(isGapless(blocks))
  t.strictSame(await find(account, 'secret'), ids)
})

t.test('young emails are not indexed yet, since older ids may still be committed', async t => {
  const account = await newAccount(world)
  const ids = await accept(account, 4)
  await indexEmails(pool, { ...OPTIONS, lag_seconds: 60 })
  t.strictSame(await blocksOf(account), [])
  t.strictSame(await find(account, 'secret'), ids)
})

t.test('an email committed after its block is found at the next check', async t => {
  const account = await newAccount(world)
  const [late = '', ...ids] = await accept(account, 9)
  // The email is moved out and back, because a test cannot choose the order of commits.
  await pool.pg.query(`CREATE TABLE late AS SELECT * FROM emails WHERE id = '${late}'`)
  await pool.pg.query('DELETE FROM emails WHERE id = $1', [late])
  await indexEmails(pool, OPTIONS)
  await pool.pg.query('INSERT INTO emails SELECT * FROM late')
  t.strictSame(await find(account, 'secret 0'), [], 'its block does not contain it yet')
  await indexEmails(pool, OPTIONS)
  t.strictSame(await find(account, 'secret 0'), [], 'nor before the block is due')
  await checkNow(account)
  await indexEmails(pool, OPTIONS)
  t.strictSame(await find(account, 'secret 0'), [late])
  t.strictSame(await find(account, 'secret'), [late, ...ids])
})

t.test('emails with ids from a clock years late are indexed and found', async t => {
  const account = await newAccount(world)
  const ids = await accept(account, 4)
  await indexEmails(pool, OPTIONS)
  const late = Array.from({ length: 70 }, (_, i) => uuid({ msecs: i }))
  await copy(ids[0] as string, late)
  await pool.pg.query(`UPDATE email_blocks SET created_at = now() - interval '1 year'`)
  await checkNow(account)
  await indexEmails(pool, OPTIONS)
  t.strictSame(await find(account, 'secret'), [...late, ...ids])
  const blocks = await blocksOf(account)
  t.strictSame(
    blocks.map(block => block.ids.length),
    [...Array(18).fill(4), 2],
  )
  shows(t, [blocks[0], blocks.at(-1)], [{ above: /^[0-]+$/ }, { upto: ids[3] }])
  t.ok(isGapless(blocks))
})

t.test('a block is checked less and less often, at least daily', async t => {
  const account = await newAccount(world)
  await accept(account, 4)
  await indexEmails(pool, OPTIONS)
  for (const [age, minutes] of [
    ['1 second', 15],
    ['5 hours', 300],
    ['1 year', 1_440],
  ]) {
    await pool.pg.query('UPDATE email_blocks SET created_at = now() - $1::interval', [age])
    await checkNow(account)
    await indexEmails(pool, OPTIONS)
    const { rows } = await pool.pg.query(
      `SELECT round(extract(epoch FROM check_at - now()) / 60)::integer AS minutes FROM email_block_checks
       WHERE account_id = $1`,
      [account.id],
    )
    t.strictSame(rows, [{ minutes }])
  }
})

t.test('deleted emails leave the index, and the others are still found', async t => {
  const account = await newAccount(world)
  const ids = await accept(account, 14)
  await indexEmails(pool, OPTIONS)
  const remove = (removed: string[]) => pool.pg.query('DELETE FROM emails WHERE id = ANY ($1)', [removed])

  await remove([ids[1], ids[12], ...ids.slice(4, 8)] as string[])
  const emptied = { ids: [], text: null, terms: [] }
  shows(t, await blocksOf(account), [emptied, emptied, { ids: ids.slice(8, 12) }])
  const left = ids.filter((_, i) => i !== 1 && i !== 12 && (i < 4 || i > 7))
  t.strictSame(await find(account, 'secret'), left)
  await indexEmails(pool, OPTIONS)
  const blocks = await blocksOf(account)
  shows(t, blocks, [{ ids: left.slice(0, 3), text: /secret 0/ }, { ids: ids.slice(8, 12) }])
  t.equal(blocks.length, 2, 'the second block was removed, since it was empty')
  t.ok(isGapless(blocks))
  t.strictSame(await find(account, 'secret'), left)

  await copy(left[0] as string, [ids[5] as string])
  await checkNow(account)
  await indexEmails(pool, OPTIONS)
  t.strictSame(await find(account, 'secret 0'), [left[0], ids[5]], 'an email may be added in the range of deleted ones')

  await remove([...left, ids[5] as string])
  await indexEmails(pool, OPTIONS)
  t.strictSame(await blocksOf(account), [])
})

t.test('the indexer runs until it is stopped', async t => {
  const account = await newAccount(world)
  const [id] = await accept(account, 1)
  const old = Array.from({ length: 64 }, () => uuid({ msecs: Date.now() - 60_000 }))
  const indexer = startIndexer(pool, world.log, 20)
  await copy(id as string, old)
  await waitUntil(async () => (await blocksOf(account)).length > 0, 'a block is written')
  await indexer.stop()
  shows(t, await blocksOf(account), [{ ids: { length: 64 } }])
})
