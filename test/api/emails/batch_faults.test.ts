import t from 'tap'
import { v7 as uuid } from 'uuid'
import { closeBatch } from '#sql/sending/batches.ts'
import { startProxiedApi } from '#test/support/api.ts'
import { openTransaction, untilBlocked } from '#test/support/database/locks.ts'
import { givePlan } from '#test/support/database/states.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'
import { startWorker } from '#workers/worker.ts'

const world = await openWorld(t, { BATCH_DEADLINE_MS: '2000' })
const account = await newAccount(world)
const { pg } = world.pool
await givePlan(world, account, { emails_per_day: 1000 })
const worker = await startWorker(world)
t.teardown(() => worker.stop())

const { api, proxy } = await startProxiedApi(t, world, account.key)

/** Sends 60 emails. With the default text they are together too long for one commit. */
const send = (text = 'It is late. '.repeat(6_000)) => {
  const email = { from: `ann@${account.domain}`, to: 'bob@b.com', subject: 'Hi' }
  const body = Array.from({ length: 60 }, (_, n) => ({ ...email, text: `${n} ${text}` }))
  return api.request('POST', '/api/emails/batch', { body })
}

t.test('a batch is stored even if LISTEN fails', async t => {
  const lost = proxy.cutRequest('LISTEN')
  t.match(await send(), { status: 200 })
  await lost
  t.match(await send(), { status: 200 })
})

for (const text of ['find_batch', 'close_batch']) {
  for (const cut of ['cutRequest', 'cutReply'] as const) {
    t.test(`a batch responds correctly if the connection is lost (${text}, ${cut})`, async t => {
      await pg.query(`
        CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2.1); RETURN NULL; END $$;
        CREATE TRIGGER dawdle AFTER INSERT ON emails FOR EACH STATEMENT EXECUTE FUNCTION dawdle()`)
      const answer = send()
      const find = `SELECT FROM batches WHERE state = 'open'`
      await waitUntil(async () => (await pg.query(find)).rowCount, 'the batch is open')
      await proxy[cut](text)
      t.match(await answer, { status: 422, body: { name: 'batch_incomplete', sent_count: 30 } })
      await pg.query('DROP FUNCTION dawdle CASCADE')
    })
  }
}

const count = async (): Promise<number> => (await pg.query('SELECT count(*)::int AS count FROM emails')).rows[0].count

for (const [cut, expected, stored] of [
  ['cutRequest', { status: 503, body: { name: 'sending_service_unavailable' } }, 0],
  ['cutReply', { status: 200, body: { data: { length: 60 } } }, 60],
] as const) {
  t.test(`the result of a batch is read back if the connection is lost during its commit (${cut})`, async t => {
    const before = await count()
    const lost = proxy[cut]('COMMIT')
    t.match(await send('Hi'), expected)
    await lost
    t.equal((await count()) - before, stored)
  })
}

t.test('closeBatch waits for a slice without locking the usage of the account', async t => {
  const id = uuid()
  await pg.query(
    `INSERT INTO batches (account_id, id, deadline, drafts, judgement, positions, indexes, errors, slice_size)
     VALUES ($1, $2, now(), '[]', '{}', '{}', '{}', '[]', 50)`,
    [account.id, id],
  )
  const slice = await openTransaction(t, world)
  await slice.query('SELECT FROM batches WHERE id = $1 FOR UPDATE', [id])
  const closing = closeBatch(world.pool, { account_id: account.id, id })
  await untilBlocked(world)
  const { rowCount } = await slice.query('SELECT FROM account_usage WHERE account_id = $1 FOR UPDATE NOWAIT', [
    account.id,
  ])
  t.equal(rowCount, 1)
  await slice.commit()
  await closing
  t.equal((await pg.query('SELECT FROM batches WHERE id = $1', [id])).rowCount, 0)
})
