import t, { type Test } from 'tap'
import { makeDue } from '#test/support/database/states.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool
const account = await newAccount(world)

/** The statement that makes an email impossible to send, the reason of its failure, and its attempts. */
const poisons: Record<string, [statement: string, reason: RegExp, attempts: number]> = {
  'a sender that is none': [
    `UPDATE emails SET sender = 'nobody' WHERE id = $1`,
    /^The stored address "nobody" is not valid\.$/,
    1,
  ],
  'a recipient that is none': [
    `UPDATE emails SET "to" = '{"a@b.com, c@d.com"}' WHERE id = $1`,
    /^The stored address "a@b\.com, c@d\.com" is not valid\.$/,
    1,
  ],
  'a header that cannot be written': [
    `UPDATE email_contents SET headers = '{"Bad name": "x"}' WHERE email_id = $1`,
    /^It could not be composed: Header field "Bad name" cannot be written safely$/,
    3,
  ],
  'contents that cannot be read': [
    `UPDATE email_contents SET headers = '{"X-Number": 5}' WHERE email_id = $1`,
    /^Its stored data could not be read\.$/,
    3,
  ],
}

for (const [name, [statement, reason, attempts]] of Object.entries(poisons)) {
  t.test(`${name} fails one email, and the others of its claim are sent`, async t => {
    const { sink, work } = await open(t)
    const ids = await Promise.all(
      Array.from({ length: 30 }, (_, i) => acceptEmail(world, account, { to: `u${i}@y.com` })),
    )
    const poisoned = ids[7] as string
    await pg.query(statement, [poisoned])

    for (let attempt = 1; attempt <= attempts; attempt++) {
      await deliverEmails(work, ids)
      t.equal(sink.messages, 29)
      if (attempt === attempts) break
      shows(t, await find(poisoned), { state: 'queued', attempt, reason, status: 'delivery_delayed' })
      await makeDue(world, poisoned)
    }
    shows(t, await find(poisoned), {
      state: 'failed',
      attempt: attempts,
      reason,
      status: 'failed',
      last_event: 'failed',
    })
    const { rows } = await pg.query('SELECT type FROM email_events WHERE email_id = $1 ORDER BY id', [poisoned])
    const types = [...Array(attempts - 1).fill('delivery_delayed'), 'failed']
    t.strictSame(
      rows,
      types.map(type => ({ type })),
    )
    t.strictSame(await listSuppressed(account), [])
  })
}

t.test('an unusable signing key delays only the mail of its domain', async t => {
  const { sink, work } = await open(t)
  const other = await newAccount(world)
  const [broken, sound] = [await acceptEmail(world, other), await acceptEmail(world, account)]
  await pg.query(`UPDATE dkim_keys SET private_key = 'x' WHERE account_id = $1`, [other.id])
  const tried_at = Date.now()
  await deliverEmails(work, [broken, sound])

  shows(t, await readEmail(world, account, sound), { status: 'delivered' })
  const { queue, status } = await readEmail(world, other, broken)
  t.equal(status, 'queued')
  shows(t, queue, [{ state: 'queued', attempts: 0, reason: /./ }])
  const next_at = queue?.[0]?.next_attempt_at?.getTime() ?? 0
  t.ok(next_at > tried_at && next_at <= Date.now() + 10_000, `${next_at - tried_at} ms later`)
  t.equal(sink.messages, 1)
})

async function open(t: Test) {
  const sink = await openSink(t)
  const timeouts = { connect: 60_000, message: 60_000, dot: 60_000 } // for a busy machine
  return { sink, work: openWork(t, world, sink.url, { timeouts }) }
}

/** Reads rows, because GET /emails/:id could not read unreadable contents either. */
async function find(id: string): Promise<Record<string, unknown>> {
  const { rows } = await pg.query(
    `SELECT d.state, d.attempt, d.reason, e.status, e.last_event FROM deliveries d
    JOIN emails e ON e.account_id = d.account_id AND e.id = d.email_id WHERE e.id = $1`,
    [id],
  )
  return rows[0]
}

async function listSuppressed({ id }: TestAccount): Promise<unknown[]> {
  return (await pg.query('SELECT address FROM suppressions WHERE account_id = $1', [id])).rows
}
