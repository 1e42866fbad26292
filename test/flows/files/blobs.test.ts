import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { type Blobs, createBlobs } from '#flows/files/blobs.ts'
import { newId } from '#lib/ids.ts'
import { SHORT_CONTENT } from '#sql/files/blobs.ts'
import { createPool } from '#sql/pool.ts'
import { startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { startS3Server } from '#test/support/http/s3_server.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const other = await newAccount(world)
const s3 = await startS3Server(t)
const { pg } = world.pool

const stores: Record<string, Blobs> = {
  Postgres: createBlobs(world),
  S3: createBlobs({ ...world, config: { ...world.config, BLOB_STORE: s3.url } }),
}

async function* inPieces(content: Buffer, length = 100_000): AsyncIterable<Buffer> {
  for (let start = 0; start < content.length; start += length) yield content.subarray(start, start + length)
}

async function* broken(): AsyncIterable<Buffer> {
  yield randomBytes(1_000)
  throw new Error('the client disconnected')
}

async function rows(): Promise<{ blobs: number; chunks: number }> {
  const query = 'SELECT (SELECT count(*)::int FROM blobs) AS blobs, (SELECT count(*)::int FROM blob_chunks) AS chunks'
  return (await pg.query(query)).rows[0]
}

for (const [name, blobs] of Object.entries(stores)) {
  t.test(`${name}: read returns the written content`, async t => {
    for (const size of [0, 1, 250_000]) {
      const content = randomBytes(size)
      const blob = await blobs.write(account.id, inPieces(content))
      t.equal(blob.size, size)
      t.ok((await buffer(blobs.read(account.id, blob.id))).equals(content))
    }
    for (const size of [0, 1, SHORT_CONTENT, SHORT_CONTENT + 1, 250_000]) {
      const content = randomBytes(size)
      const blob = await blobs.put(other.id, content)
      t.equal(blob.size, size)
      t.ok((await buffer(blobs.read(other.id, blob.id))).equals(content))
    }
  })

  t.test(`${name}: equal content is one blob per account`, async t => {
    const content = randomBytes(1_000)
    const { id } = await blobs.put(account.id, content)
    const before = await rows()
    const again = await Promise.all([blobs.put(account.id, content), blobs.write(account.id, inPieces(content, 10))])
    t.strictSame(
      again.map(blob => blob.id),
      [id, id],
    )
    t.strictSame(await rows(), before)
    t.not((await blobs.put(other.id, content)).id, id)
  })

  t.test(`${name}: concurrent writes of equal content keep one blob`, async t => {
    const content = randomBytes(1_000)
    const ways = [() => blobs.write(account.id, inPieces(content, 100)), () => blobs.put(account.id, content)]
    const written = await Promise.all(Array.from({ length: 4 }, () => ways.map(way => way())).flat())
    t.equal(new Set(written.map(({ id }) => id)).size, 1)
    t.ok((await buffer(blobs.read(account.id, (written[0] as { id: string }).id))).equals(content))
  })

  t.test(`${name}: an incomplete upload leaves nothing`, async t => {
    const before = await rows()
    await t.rejects(blobs.write(account.id, broken()), { message: 'the client disconnected' })
    t.strictSame(await rows(), before)
  })

  t.test(`${name}: a blob unused for a day and without an email is deleted`, async t => {
    const blob = await blobs.put(account.id, randomBytes(1_000))
    await pg.query(`UPDATE blobs SET used_at = now() - interval '25 hours' WHERE id = $1`, [blob.id])
    t.equal(await blobs.purge(), 1)
    t.equal(await blobs.purge(), 0)
    const left = await buffer(blobs.read(account.id, blob.id)).catch(() => Buffer.alloc(0))
    t.equal(left.length, 0)
  })

  t.test(`${name}: the blobs of an import, of a received message and of its files stay`, async t => {
    const put = await Promise.all([1, 2, 3].map(() => blobs.put(account.id, randomBytes(1_000))))
    const [csv, raw, file] = put.map(({ id }) => id)
    const [account_id, email_id] = [account.id, newId()]
    await pg.query(
      `INSERT INTO contact_imports (account_id, id, domain_id, options, blob_id) VALUES ($1, $2, $3, '{}', $4)`,
      [account_id, newId(), account.domain_id, csv],
    )
    await pg.query(
      `INSERT INTO received_emails (account_id, id, mail_from, received_for, client, sha256, size, raw_blob_id)
       VALUES ($1, $2, '', '{}', '{}', '', 1000, $3)`,
      [account_id, email_id, raw],
    )
    await pg.query(
      `INSERT INTO received_attachments (account_id, id, received_email_id, position, filename, content_type,
         content_disposition, size, blob_id) VALUES ($1, $2, $3, 1, 'a', 'text/plain', 'attachment', 1000, $4)`,
      [account_id, newId(), email_id, file],
    )
    const ids = put.map(({ id }) => id)
    await pg.query(`UPDATE blobs SET used_at = now() - interval '25 hours' WHERE id = ANY ($1)`, [ids])
    t.equal(await blobs.purge(), 0)
    for (const id of ids) t.equal((await buffer(blobs.read(account_id, id))).length, 1_000)
  })
}

t.test('short content is one row, and not written again within an hour', async t => {
  const { put } = stores.Postgres as Blobs
  const content = randomBytes(1_000)
  const before = await rows()
  const { id } = await put(account.id, content)
  t.strictSame(await rows(), { ...before, blobs: before.blobs + 1 })
  const find = async () => (await pg.query('SELECT ctid, used_at FROM blobs WHERE id = $1', [id])).rows[0]
  const first = await find()
  t.equal((await put(account.id, content)).id, id)
  t.strictSame(await find(), first)
  await pg.query(`UPDATE blobs SET used_at = used_at - interval '61 minutes' WHERE id = $1`, [id])
  t.equal((await put(account.id, content)).id, id)
  t.ok((await find()).used_at >= first.used_at)
})

t.test('a blob is read from the store in which it was written', async t => {
  const content = randomBytes(1_000)
  const { id } = await (stores.Postgres as Blobs).put(account.id, content)
  const s3Blobs = stores.S3 as Blobs
  t.equal((await s3Blobs.put(account.id, content)).id, id)
  t.ok((await buffer(s3Blobs.read(account.id, id))).equals(content))

  const later = await s3Blobs.put(account.id, randomBytes(1_000))
  await t.rejects(buffer((stores.Postgres as Blobs).read(account.id, later.id)), { message: /BLOB_STORE/ })
})

t.test('a blob in a store that is not configured does not block purge()', async t => {
  const [here, there] = [stores.Postgres as Blobs, stores.S3 as Blobs]
  const stranded = await there.put(account.id, randomBytes(1_000))
  const blob = await here.put(account.id, randomBytes(1_000))
  await pg.query(`UPDATE blobs SET used_at = now() - interval '25 hours' WHERE id = ANY ($1)`, [[stranded.id, blob.id]])
  t.equal(await here.purge(), 1)
  t.equal(await there.purge(), 1)
})

t.test('content that is stored while its unused blob is being deleted gets another blob', async t => {
  const { put, purge, read } = stores.S3 as Blobs
  const content = randomBytes(1_000)
  const unused = await put(account.id, content)
  await pg.query(`UPDATE blobs SET used_at = now() - interval '25 hours' WHERE id = $1`, [unused.id])
  const before = s3.requests.length
  s3.hang(/^DELETE/)
  const purging = purge()
  await waitUntil(() => s3.requests.slice(before).some(request => request.startsWith('DELETE')), 'it is being deleted')
  const blob = await put(account.id, content)
  s3.speak()
  await purging
  t.not(blob.id, unused.id)
  t.ok((await buffer(read(account.id, blob.id))).equals(content))
})

t.test('a blob in doubt stays, because another request may use it', async t => {
  const proxy = await startPgProxy(world.config.DATABASE_URL as string)
  const pool = createPool(proxy.url)
  t.teardown(async () => {
    await pool.end()
    await proxy.close()
  })
  const content = randomBytes(1_000)
  const cut = proxy.cutReply('SET sha256')
  const failed = t.rejects(createBlobs({ ...world, pool }).write(account.id, inPieces(content)))
  await cut
  const { id } = await (stores.Postgres as Blobs).put(account.id, content)
  await failed
  t.ok((await buffer((stores.Postgres as Blobs).read(account.id, id))).equals(content))
})
