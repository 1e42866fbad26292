import { createHash } from 'node:crypto'
import t from 'tap'
import { newId } from '#lib/ids.ts'
import { insertReceivedEmails } from '#sql/receiving/received_emails.ts'
import { givePlan } from '#test/support/database/states.ts'
import { newReceiver, store } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const work = openWork(t, world, 'capture')
const raw = 'Message-ID: <1@y.com>\r\n\r\nHello'
const envelope = { mail_from: 'x@y.com', received_for: ['ann@moved.com'] }

const domainsOf = async ({ id }: { id: string }) =>
  (await world.pool.pg.query('SELECT domain_id FROM received_emails WHERE account_id = $1', [id])).rows

t.test('a message that the former account of a domain has received is stored for its new one', async t => {
  const [former, present] = [await newReceiver(world), await newReceiver(world)]
  for (const account of [former, present, present]) await store(work, account, raw, envelope)
  for (const account of [former, present]) t.strictSame(await domainsOf(account), [{ domain_id: account.domain_id }])
})

t.test('a message whose domain was deleted after its recipient was accepted is stored', async t => {
  const account = await newReceiver(world)
  await store(work, { ...account, domain_id: newId() }, raw, envelope)
  t.strictSame(await domainsOf(account), [{ domain_id: null }])
})

t.test('a repeated message that is also for another recipient is stored again, and counted', async t => {
  const account = await newReceiver(world)
  await givePlan(world, account, { emails_per_day: 10 })
  for (const received_for of [
    ['ann@moved.com'],
    ['ann@moved.com', 'bob@moved.com'],
    ['bob@moved.com', 'ann@moved.com'],
  ]) {
    await store(work, account, raw, { ...envelope, received_for })
  }
  const { rows } = await world.pool.pg.query(
    'SELECT received_for FROM received_emails WHERE account_id = $1 ORDER BY id',
    [account.id],
  )
  t.strictSame(rows, [{ received_for: ['ann@moved.com'] }, { received_for: ['ann@moved.com', 'bob@moved.com'] }])
  const usage = 'SELECT sum(emails)::int AS emails FROM usage_minutes WHERE account_id = $1'
  t.strictSame((await world.pool.pg.query(usage, [account.id])).rows, [{ emails: 3 }])
})

t.test('credits make room for received mail beyond the quota of the month', async t => {
  const account = await newReceiver(world)
  const { pg } = world.pool
  const readRoom = async () => (await pg.query('SELECT quota_room($1)::int AS room', [account.id])).rows[0].room
  await givePlan(world, account, {})
  t.equal(await readRoom(), null)
  await givePlan(world, account, { emails_per_month: 2 })
  await pg.query('UPDATE account_usage SET credits = 5 WHERE account_id = $1', [account.id])
  t.equal(await readRoom(), 7)
  const received_for = ['ann@moved.com', 'bob@moved.com', 'cid@moved.com']
  await store(work, account, raw, { ...envelope, received_for })
  t.equal(await readRoom(), 4)
  await givePlan(world, account, { emails_per_month: 1 })
  t.equal(await readRoom(), 4, 'a smaller plan takes no credits')
})

t.test('equal messages of one commit are stored once if they have a Message-ID, else each', async t => {
  const bytes = Buffer.from(raw)
  for (const [has_message_id, count] of [
    [true, 1],
    [false, 3],
  ] as const) {
    const { id: account_id, domain_id } = await newReceiver(world)
    const email = {
      ...{ ...envelope, account_id, domain_id, has_message_id, bytes, size: bytes.length },
      ...{ client: { address: '192.0.2.1', helo: 'mail.y.com', name: null, tls: null } },
      sha256: createHash('sha256').update(bytes).digest('hex'),
    }
    const emails = Array.from({ length: 3 }, () => ({ ...email, id: newId(), raw_blob_id: newId() }))
    await insertReceivedEmails(world.pool, emails)
    t.equal((await domainsOf({ id: account_id })).length, count)
  }
})
