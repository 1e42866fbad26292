import t, { type Test } from 'tap'
import { v7 as uuid } from 'uuid'
import { toDraft } from '#flows/sending/draft_emails.ts'
import { sweepBatches } from '#flows/sending/process_batch.ts'
import { fingerprint } from '#lib/json/canonical_json.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'
import { setWarmUp } from '#sql/safety/platform.ts'
import { type BatchId, findBatchByKey, insertBatch, openBatch, storeBatchSlice } from '#sql/sending/batches.ts'
import { startApi } from '#test/support/api.ts'
import { untilBlocked } from '#test/support/database/locks.ts'
import { givePlan } from '#test/support/database/states.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'
import { startWorker } from '#workers/worker.ts'

const world = await openWorld(t, { BATCH_DEADLINE_MS: '2000' })
const account = await newAccount(world)
const party = { account_id: account.id, domain_id: null }
const api = await startApi(t, world, account.key)
const worker = await startWorker(world)
t.teardown(() => worker.stop())
const { pg } = world.pool
await givePlan(world, account, { emails_per_day: 1000 })
await setWarmUp(world.pool, 1000)

type Sent = { name: string; sent: { index: number; id: string }[]; sent_count: number }

const emails = (count: number, { domain }: TestAccount = account) =>
  Array.from({ length: count }, (_, i) => ({ from: `ann@${domain}`, to: ['bob@b.com'], subject: `number ${i}` }))

/** Together too long for one commit if there are at least 60; half of them are not. */
const longEmails = (count: number, of?: TestAccount) =>
  emails(count, of).map(email => ({ ...email, text: `${email.subject}. ${'It is late. '.repeat(6_000)}` }))

const send = (body: unknown, key: string | null = null) =>
  api.request('POST', '/api/emails/batch', { body, headers: key === null ? {} : { 'idempotency-key': key } })

/** Runs while `body` executes after every INSERT into emails, to delay it or make it fail. */
async function during<T>(body: string, run: () => Promise<T>): Promise<T> {
  await pg.query(`
    CREATE FUNCTION hinder() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN NULL; END $$;
    CREATE TRIGGER hinder AFTER INSERT ON emails FOR EACH STATEMENT EXECUTE FUNCTION hinder()`)
  try {
    return await run()
  } finally {
    await pg.query('DROP FUNCTION hinder CASCADE')
  }
}

/** Runs while INSERTs into emails block, until `release` is called. */
async function held<T>(run: (release: () => Promise<unknown>) => Promise<T>): Promise<T> {
  const holder = await pg.connect()
  try {
    await holder.query('SELECT pg_advisory_lock(1)')
    const release = () => holder.query('SELECT pg_advisory_unlock(1)')
    return await during('PERFORM pg_advisory_xact_lock_shared(1)', () => run(release).finally(release))
  } finally {
    holder.release(true)
  }
}

const slow = 'PERFORM pg_sleep(2.1)'
const failing = `RAISE 'no space' USING ERRCODE = '53100'`

async function stored(ids: string[]): Promise<{ id: string; subject: string }[]> {
  return (await pg.query('SELECT id, subject FROM emails WHERE id = ANY ($1) ORDER BY id', [ids])).rows
}

/** Returns the debited quota; throws unless it and the usage of the warm-up equal the number of stored emails. */
async function used(): Promise<number> {
  const { rows } = await pg.query(
    `SELECT coalesce((SELECT sum(emails) FROM usage_minutes WHERE account_id = $1), 0)::int AS used,
      coalesce((SELECT sum(emails) FROM warm_up_usage WHERE account_id = $1), 0)::int AS warmed,
      (SELECT count(*) FROM emails WHERE account_id = $1)::int AS emails`,
    [account.id],
  )
  const { used, warmed, emails } = rows[0]
  if (used !== emails || warmed !== emails) throw new Error(JSON.stringify(rows[0]))
  return used
}

t.test('a batch is stored by the web process if there is no worker', async t => {
  const idle = await openWorld(t)
  const account = await newAccount(idle)
  const api = await startApi(t, idle, account.key)
  for (const body of [emails(20, account), longEmails(60, account)]) {
    const answer = await api.request('POST', '/api/emails/batch', { body })
    t.equal(answer.status, 200)
    t.equal(answer.body.data.length, body.length)
  }
  t.match(await api.request('GET', '/api/emails?limit=100'), { body: { data: { length: 80 } } })
})

t.test('a batch that fits into one commit is stored after its deadline too', async t => {
  const { status, body } = await during(slow, () => send(emails(100)))
  t.equal(status, 200)
  t.equal((await stored(body.data.map(({ id }) => id as string))).length, 100)
})

t.test('a late batch with a key responds 503 batch_incomplete, and replays', async t => {
  const before = await used()
  const first = await during(slow, () => send(longEmails(100), 'late'))
  t.match(first, {
    status: 503,
    body: { statusCode: 503, name: 'batch_incomplete', message: /^Only 50 of 100 emails/ },
  })
  t.ok(Number(first.headers.get('retry-after')) > 0)

  const { sent, sent_count } = first.body as unknown as Sent
  t.equal(sent_count, 50)
  const rows = await stored(sent.map(({ id }) => id))
  t.strictSame(
    rows.map(({ subject }) => subject),
    sent.map(({ index }) => `number ${index}`),
  )
  t.equal((await used()) - before, 50)

  const second = await send(longEmails(100), 'late')
  t.match(second, { status: 503, text: first.text })
  t.equal(second.headers.get('idempotent-replayed'), 'true')
  t.ok(second.headers.get('retry-after'))
  t.equal((await used()) - before, 50)
})

t.test('a late batch without a key responds 422 batch_incomplete', async t => {
  const { status, headers, body } = await during(slow, () => send(longEmails(100)))
  t.equal(status, 422)
  t.equal(headers.get('retry-after'), null)
  t.match(body, { statusCode: 422, name: 'batch_incomplete', sent_count: 50 })
})

for (const [key, body] of Object.entries({ 'nothing, in one commit': emails(3), 'nothing, in two': longEmails(60) })) {
  t.test(`a batch that stored ${key}, is removed completely`, async t => {
    const before = await used()
    const first = await during(failing, () => send(body, key))
    t.match(first, { status: 503, body: { name: 'sending_service_unavailable' } })
    t.ok(first.headers.get('retry-after'))
    t.equal(await used(), before)
    t.match(await send(body, key), { status: 200, body: { data: { length: body.length } } })
  })
}

t.test('the key of a batch that is being stored responds 409, then replays', async t => {
  const first = await held(async release => {
    const first = send(emails(2), 'twice')
    await untilBlocked(world)
    const second = await send(emails(2), 'twice')
    t.match(second, { status: 409, body: { name: 'concurrent_idempotent_requests' } })
    t.equal(second.headers.get('retry-after'), '1')
    await release()
    return await first
  })
  t.equal(first.status, 200)
  t.match(await send(emails(2), 'twice'), { status: 200, text: first.text })
  t.match(await send(emails(3), 'twice'), { status: 409, body: { name: 'invalid_idempotent_request' } })
})

t.test('only one of concurrent requests with the same key is sent', async t => {
  const answers = await held(async release => {
    let answered = 0
    const requests = Array.from({ length: 5 }, async () => {
      const answer = await send(emails(1), 'at once')
      if (++answered === 4) await release()
      return answer
    })
    return Promise.all(requests)
  })
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409])
})

t.test('a batch is stored even if its client disconnects', async t => {
  await held(async release => {
    await goAway(t)
    await release()
  })
  const isDone = async () => (await findBatchByKey(world.pool, account.id, 'gone'))?.state === 'done'
  await waitUntil(isDone, 'the batch is stored')
  t.match(await send(emails(2), 'gone'), { status: 200, body: { data: { length: 2 } } })
})

async function goAway(t: Test): Promise<void> {
  const controller = new AbortController()
  const request = fetch(`${api.url}/api/emails/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}`, 'user-agent': 'test', 'idempotency-key': 'gone' },
    body: JSON.stringify(emails(2)),
    signal: controller.signal,
  })
  await untilBlocked(world)
  controller.abort()
  await t.rejects(request)
}

/** Opens a batch and leaves it, like a web process that dies after its commit. */
async function abandon(key: string, count: number, deadline_ms: number): Promise<BatchId> {
  const drafts = emails(count).map(email =>
    toDraft(party, CompleteEmail.parse(email), null, world.config.SIMULATOR_DOMAIN),
  )
  const batch = {
    ...{
      account_id: account.id,
      id: uuid(),
      key,
      fingerprint: (await fingerprint('POST', '/emails/batch', emails(count))).toString('hex'),
      deadline_ms,
    },
    ...{ drafts, indexes: drafts.map((_, index) => index), errors: [], slice_size: Math.ceil(count / 2) },
  }
  await world.pool.transaction(async tx => {
    await insertBatch(tx, batch)
    await openBatch(tx, batch, false)
  })
  return batch
}

t.test('an abandoned batch is closed by a worker or a retry', async t => {
  await worker.stop()
  const before = await used()
  await abandon('left', 3, -6_000)
  await sweepBatches(world.pool)
  t.equal(await findBatchByKey(world.pool, account.id, 'left'), null)
  t.equal(await used(), before)

  const batch = await abandon('left again', 100, 60_000)
  await storeBatchSlice(world.pool, batch)
  await pg.query('UPDATE batches SET deadline = now() WHERE id = $1', [batch.id])
  t.match(await send(emails(100), 'left again'), { status: 503, body: { name: 'batch_incomplete', sent_count: 50 } })
  t.equal((await used()) - before, 50)
})

t.test('the key of a batch between two slices responds 409, then replays', async t => {
  const batch = await abandon('open', 4, 60_000)
  for (let slice = 1; slice <= 2; slice++) {
    t.match(await send(emails(4), 'open'), { status: 409, body: { name: 'concurrent_idempotent_requests' } })
    t.match(await send(emails(3), 'open'), { status: 409, body: { name: 'invalid_idempotent_request' } })
    await storeBatchSlice(world.pool, batch)
  }
  t.match(await send(emails(4), 'open'), { status: 200, body: { data: { length: 4 } } })
})
