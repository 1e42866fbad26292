import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { sweepDeliveries } from '#flows/delivery/recover_deliveries.ts'
import { acceptEmails } from '#flows/sending/accept_emails.ts'
import { toDraft } from '#flows/sending/draft_emails.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'
import { createPool } from '#sql/pool.ts'
import { startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { openWork } from '#test/support/sending.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool
const COUNT = 600
const times = { heartbeat_ms: 200, poll_ms: 50, drain_ms: 5_000, keys_ms: 60_000 }
const timeouts = { connect: 10_000, message: 10_000, dot: 10_000 }

t.test('crashes and lost connections send mail twice only if it was in doubt', async t => {
  const sink = await openSink(t)
  await acceptAll(['ok', 'slow250-30', 'slow250-200', 'grey-1'])
  const senders = await Promise.all([open(sink.url), open(sink.url)])
  const someone = () => senders[Math.random() < 0.5 ? 0 : 1] as (typeof senders)[number]
  const trouble = [
    repeat(200, async () => someone().proxy.cut()),
    repeat(300, () => pg.query(EXPIRE_SOME)),
    repeat(500, async () => {
      const { proxy } = someone()
      proxy.blackhole(true)
      await sleep(800)
      proxy.blackhole(false)
    }),
    repeat(900, async () => {
      await senders[0]?.close()
      senders[0] = await open(sink.url)
    }),
  ]
  const care = [
    repeat(100, sweep, Infinity),
    repeat(150, sweep, Infinity),
    repeat(100, () => pg.query(HURRY), Infinity),
  ]
  t.teardown(() => {
    for (const { stop } of care) stop()
  })
  await Promise.all(trouble.map(({ ended }) => ended))
  await Promise.all(senders.map(sender => sender.close()))
  // On a busy machine, leases as short as those before might all expire.
  const last = await open(sink.url, 30)
  const undelivered = () => list(`SELECT recipient FROM deliveries WHERE state <> 'delivered'`)
  await waitUntil(async () => (await undelivered()).length === 0, 'all mail is delivered')
  for (const { stop } of care) stop()
  await Promise.all(care.map(({ ended }) => ended))
  await last.close()

  const sent = sink.ledger.map(entry => entry.rcpt)
  t.equal(new Set(sent).size, COUNT, 'no email is lost')
  const twice = sent.filter((rcpt, i) => sent.indexOf(rcpt) !== i)
  const doubted = await list(`SELECT recipient FROM email_events WHERE type = 'in_doubt'`)
  t.strictSame(
    twice.filter(rcpt => !doubted.includes(rcpt)),
    [],
    `${twice.length} were sent twice, all of them in doubt`,
  )
  t.equal((await list(`SELECT recipient FROM email_events WHERE type = 'delivered'`)).length, COUNT, 'settled once')
  t.strictSame(await list(`SELECT id AS recipient FROM emails WHERE status <> 'delivered'`), [])
})

const EXPIRE_SOME = `
  WITH picked AS (SELECT id FROM deliveries WHERE state = 'sending' AND random() < 0.2 ORDER BY id FOR NO KEY UPDATE)
  UPDATE deliveries d SET lease_until = now() - interval '1 ms', lost_count = 0 FROM picked WHERE d.id = picked.id`

/** Makes deferred and doubtful mail due at once, any number of times. */
const HURRY = `
  WITH picked AS (
    SELECT id FROM deliveries WHERE state IN ('queued', 'in_doubt') AND (next_at > now() OR next_at IS NULL)
    ORDER BY id FOR NO KEY UPDATE
  )
  UPDATE deliveries d SET next_at = now(), in_doubt_count = 0 FROM picked WHERE d.id = picked.id`

const sweep = () => sweepDeliveries(world.pool, world.log, world.config)

/** Repeats an action about every `every_ms`, for `for_ms`. */
function repeat(every_ms: number, act: () => Promise<unknown>, for_ms = 2_500) {
  let until = performance.now() + for_ms
  const run = async () => {
    while (performance.now() < until) {
      await sleep(every_ms * (0.5 + Math.random()))
      await act()
    }
  }
  const stop = () => {
    until = 0
  }
  return { ended: run(), stop }
}

async function open(mail_transport: string, lease_seconds = 0.6) {
  const proxy = await startPgProxy(world.config.DATABASE_URL ?? '')
  const pool = createPool(proxy.url)
  const { sender } = openWork(t, { ...world, pool }, mail_transport, {
    times: { ...times, lease_seconds },
    timeouts,
  })
  sender.start()
  const close = async () => {
    await sender.stop()
    await Promise.all([pool.end(), proxy.close()])
  }
  return { proxy, close }
}

async function acceptAll(behaviours: string[]): Promise<void> {
  const account = await newAccount(world)
  const drafts = Array.from({ length: COUNT / 20 }, (_, email) => {
    const to = Array.from({ length: 20 }, (_, i) => `${behaviours[i % behaviours.length]}-${email}-${i}@y${i % 3}.com`)
    const fields = CompleteEmail.parse({ from: `hello@${account.domain}`, to, subject: 'Hello', text: 'Hello' })
    return toDraft({ account_id: account.id, domain_id: null }, fields, null, world.config.SIMULATOR_DOMAIN)
  })
  await acceptEmails(world.pool, drafts)
}

async function list(query: string): Promise<string[]> {
  return (await pg.query(query)).rows.map(row => row.recipient)
}
