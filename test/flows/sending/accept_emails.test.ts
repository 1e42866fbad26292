import t from 'tap'
import { v7 as uuid } from 'uuid'
import { z } from 'zod'
import { acceptEmails, type RefusedEmail } from '#flows/sending/accept_emails.ts'
import { toDraft } from '#flows/sending/draft_emails.ts'
import { faultError } from '#flows/sending/errors.ts'
import { notFound } from '#lib/errors.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'
import { createPool, sql, type Tx } from '#sql/pool.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import { givePlan, suppress } from '#test/support/database/states.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const { pg } = world.pool
const secondPool = createPool(world.config.DATABASE_URL as string)
t.teardown(() => secondPool.end())

type Fields = { sender?: TestAccount; to?: string; subject?: string; key?: string | null }

function draft({ sender = account, to = 'bob@b.com', subject = 'Hi', key = null }: Fields = {}): Draft {
  const email = CompleteEmail.parse({ from: `ann@${sender.domain}`, to, subject })
  const request = key === null ? null : { route: '/emails', key, fingerprint: '00' }
  return toDraft({ account_id: sender.id, domain_id: null }, email, request, world.config.SIMULATOR_DOMAIN)
}

/** Creates an account that may send `emails_per_day`. */
async function newLimitedAccount(emails_per_day: number): Promise<TestAccount> {
  const limited = await newAccount(world)
  await givePlan(world, limited, { emails_per_day })
  return limited
}

/** Counts what is stored for an account's emails. `queued`: emails that jobs name. */
async function countStored({ id }: TestAccount) {
  const { rows } = await pg.query(
    `SELECT (SELECT count(*)::int FROM emails WHERE account_id = $1) AS emails,
      (SELECT count(*)::int FROM deliveries WHERE account_id = $1) AS deliveries,
      (SELECT count(*)::int FROM idempotency_keys WHERE account_id = $1) AS keys,
      (SELECT coalesce(sum(emails), 0)::int FROM usage_minutes WHERE account_id = $1) AS debited,
      (SELECT count(*)::int FROM emails e JOIN (
          SELECT json_array_elements_text(payload -> 'email_ids')::uuid AS id FROM graphile_worker._private_jobs
        ) j ON j.id = e.id WHERE e.account_id = $1) AS queued`,
    [id],
  )
  return rows[0]
}

function refusals(outcomes: Awaited<ReturnType<typeof acceptEmails>>): [number, RefusedEmail][] {
  return outcomes.flatMap((outcome, at) => ('fault' in outcome ? [[at, outcome]] : []))
}

/** A transaction that counts its statements. */
function counting(tx: Tx) {
  const counted = { count: 0 }
  const any: Tx['any'] = query => {
    counted.count++
    return tx.any(query)
  }
  return { counted, tx: { ...tx, any } }
}

t.test('acceptEmails accepts 1,000 drafts in one statement, with a fault per refused one', async t => {
  const limited = await newLimitedAccount(998)
  await suppress(world, limited.id, 'gone@b.com')
  const drafts = Array.from({ length: 1_000 }, (_, n) =>
    draft({ sender: limited, to: n === 500 ? 'gone@b.com' : `to-${n}@b.com`, key: n === 1 ? 'of a campaign' : null }),
  )
  const outcomes = await world.pool.transaction(async given => {
    const { counted, tx } = counting(given)
    const outcomes = await acceptEmails(tx, drafts)
    t.equal(counted.count, 1)
    return outcomes
  })
  t.strictSame(
    outcomes.flatMap(outcome => ('id' in outcome ? [outcome] : [])),
    drafts
      .toSpliced(999, 1)
      .toSpliced(500, 1)
      .map(({ id }) => ({ id, replayed: false })),
  )
  const faults = refusals(outcomes).map(
    ([
      at,
      {
        fault,
        detail: { limit, left, needed },
      },
    ]) => ({ at, fault, limit, left, needed }),
  )
  t.strictSame(faults, [
    { at: 500, fault: 'all_suppressed', limit: undefined, left: undefined, needed: undefined },
    { at: 999, fault: 'daily_quota_exceeded', limit: 998, left: 0, needed: 1 },
  ])
  t.strictSame(await countStored(limited), { emails: 998, deliveries: 998, keys: 1, debited: 998, queued: 998 })
})

t.test('acceptEmails stores nothing if its caller rolls back', async t => {
  const limited = await newLimitedAccount(1_000)
  const drafts = Array.from({ length: 1_000 }, (_, n) => draft({ sender: limited, key: `key ${n}` }))
  const other = new Error('what the caller stores besides')
  const accepting = world.pool.transaction(async tx => {
    t.strictSame(refusals(await acceptEmails(tx, drafts)), [])
    throw other
  })
  await t.rejects(accepting, other)
  t.strictSame(await countStored(limited), { emails: 0, deliveries: 0, keys: 0, debited: 0, queued: 0 })
  t.strictSame(refusals(await acceptEmails(world.pool, drafts)), [], 'the same drafts may be accepted later')
})

t.test('concurrent acceptEmails with the same keys never deadlock or duplicate emails', async t => {
  const idsOf = new Map<string, Set<string>>()
  // Without retries: a deadlock would reject.
  const acceptShuffled = async (pool: typeof secondPool, keys: string[]) => {
    const shuffled = keys.toSorted(() => Math.random() - 0.5)
    const answers = await acceptEmails(
      pool,
      shuffled.map(key => draft({ subject: 'once', key })),
    )
    answers.forEach((answer, at) => {
      const ids = idsOf.get(shuffled[at] as string) ?? new Set()
      if ('id' in answer) idsOf.set(shuffled[at] as string, ids.add(answer.id))
    })
  }
  for (let round = 0; round < 40; round++) {
    const keys = Array.from({ length: 50 }, () => uuid())
    await Promise.all([world.pool, secondPool, world.pool, secondPool].map(pool => acceptShuffled(pool, keys)))
  }

  t.equal(idsOf.size, 2_000)
  t.strictSame(
    [...idsOf.values()].filter(ids => ids.size !== 1),
    [],
  )
  const { rows } = await pg.query(`SELECT count(*) FROM emails WHERE subject = 'once'`)
  t.equal(rows[0].count, 2_000)
})

t.test('accept_emails calls explain_quota once for many emails', async t => {
  const limited = await newLimitedAccount(1)
  const drafts = Array.from({ length: 50 }, () => draft({ sender: limited }))
  const Calls = z.object({ calls: z.int() })
  await world.pool.transaction(async tx => {
    await tx.run(sql.unsafe`SET LOCAL track_functions = 'pl'`)
    const refused = refusals(await acceptEmails(tx, drafts))
    const messages = refused.map(([at, outcome]) => faultError(outcome, drafts[at] as Draft).message)
    const message = 'The request needs 1 email. Your plan allows 1 in any 24 hours, of which 0 are left.'
    t.same(
      messages.map(text => text.replace(/ There is room .*/, '')),
      Array(49).fill(message),
    )
    const { calls } = await tx.one(sql.type(Calls)`
      SELECT calls FROM pg_stat_xact_user_functions WHERE funcname = 'explain_quota'
    `)
    t.equal(calls, 1)
  })
})

t.test('emails of several accounts in one statement each get the limits of their own account', async t => {
  const senders = [await newLimitedAccount(0), await newLimitedAccount(1)]
  for (const sender of senders) await world.pool.transaction(tx => acceptEmails(tx, [draft({ sender })]))
  const outcomes = await world.pool.transaction(tx =>
    acceptEmails(
      tx,
      senders.map(sender => draft({ sender })),
    ),
  )
  t.strictSame(
    refusals(outcomes).map(([, { fault, detail }]) => [fault, detail.limit]),
    [0, 1].map(limit => ['daily_quota_exceeded', limit]),
  )
})

t.test('a refused draft keeps its error, but replays a bound key', async t => {
  const key = uuid()
  const sender = await newAccount(world)
  const refused = { ...draft({ sender, key }), refusal: notFound('Template') }
  const [outcome] = await acceptEmails(world.pool, [refused])
  t.match(outcome, { fault: 'refused' })
  t.equal(faultError(outcome as RefusedEmail, refused), refused.refusal)
  t.strictSame(await countStored(sender), { emails: 0, deliveries: 0, keys: 0, debited: 0, queued: 0 })

  const [first] = await acceptEmails(world.pool, [draft({ sender, key })])
  const again = { ...draft({ sender, key }), refusal: notFound('Template') }
  t.strictSame(await acceptEmails(world.pool, [again]), [{ ...first, replayed: true }])
})

t.test('a key used with another request refuses only its own draft', async t => {
  const [key, sender] = [uuid(), await newAccount(world)]
  const [first] = await acceptEmails(world.pool, [draft({ sender, key })])
  const other = draft({ sender })
  const outcomes = await acceptEmails(world.pool, [{ ...draft({ sender, key }), fingerprint: '01' }, other])
  t.match(first, { replayed: false })
  shows(t, outcomes, [{ fault: 'key_conflict' }, { id: other.id, replayed: false }])
})
