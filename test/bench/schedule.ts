import { randomUUID } from 'node:crypto'
import { acceptEmails } from '#flows/sending/accept_emails.ts'
import { toDraft } from '#flows/sending/draft_emails.ts'
import { hashApiKey } from '#lib/api_key.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'
import { findCaller } from '#sql/accounts/api_keys.ts'
import { sql } from '#sql/pool.ts'
import { EMAIL } from '#test/bench/support/generate_load.ts'
import { median, openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'
import { type Sink, startSink } from '#test/faults/support/sink.ts'
import { EHLO, endToEnd } from './deliver.ts'

const WAITING = 1_000_000
const TIMED = 1_000
const SPREAD_MS = 10_000

/** How late scheduled emails are sent, and how much a million scheduled emails slow down everything else. */
export async function benchSchedule(): Promise<void> {
  const stage = await openStage()
  const sink = await startSink({ ehlo: EHLO })
  try {
    await stage.spawn('workers/web.ts', { PORT: '4601' })
    await stage.spawn('test/bench/support/worker.ts', { MAIL_TRANSPORT: sink.url })
    for (let run = 0; run < 2; run++) await endToEnd(stage, sink) // a warm-up, not counted
    const before = await measure(stage, sink, 'none scheduled')
    await fill(stage)
    const after = await measure(stage, sink, 'a million scheduled')
    const part = after / before
    report('end to end with a million scheduled', `${part.toFixed(2)} x without them`, '>= 0.9 x', part >= 0.9)
    const late = await measureLateness(stage, sink)
    const p99 = percentile(late, 0.99)
    const figure = `p50 ${percentile(late, 0.5).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`
    report('lateness of scheduled emails', figure, 'p99 < 1,000 ms, none early', p99 < 1_000 && Math.min(...late) >= 0)
  } finally {
    await stage.close()
    await sink.close()
  }
}

async function measure(stage: Stage, sink: Sink, name: string): Promise<number> {
  const figures: number[] = []
  for (let round = 1; round <= 3; round++) {
    const figure = await endToEnd(stage, sink)
    figures.push(figure)
    console.log(`  round ${round}  end to end, ${name.padEnd(22)} ${figure.toFixed(0)}/s`)
  }
  return median(figures)
}

/** Rows like those of accept_emails, due in a week. */
async function fill(stage: Stage): Promise<void> {
  for (let done = 0; done < WAITING; done += 50_000) {
    await stage.pool.run(sql.unsafe`
      WITH stored AS (
        INSERT INTO emails (account_id, id, domain_id, message_id, sender, "to", cc, bcc, reply_to, subject, tags, status,
          last_event, scheduled_at)
        SELECT d.account_id, gen_random_uuid(), d.id, 'x@' || d.name, 'a@' || d.name, '{b@b.com}', '{}', '{}', '{}',
          'Later', '[]', 'scheduled', 'scheduled', now() + interval '7 days'
        FROM domains d, generate_series(1, 50000)
        RETURNING account_id, id, scheduled_at
      )
      INSERT INTO deliveries (account_id, id, email_id, recipient, destination, state, next_at)
      SELECT account_id, gen_random_uuid(), id, 'b@b.com', 'b.com', 'queued', scheduled_at FROM stored
    `)
  }
  // As in a database in use: autovacuum would run during the measurement.
  for (const table of ['emails', 'deliveries']) {
    await stage.pool.run(sql.unsafe`VACUUM ANALYZE ${sql.identifier([table])}`)
  }
}

/** Milliseconds from the scheduled time of each email to its arrival. */
async function measureLateness(stage: Stage, sink: Sink): Promise<number[]> {
  const caller = await findCaller(stage.pool, hashApiKey(stage.key, stage.secrets.pepper))
  if (!caller) throw new Error('the key of the benchmark is unknown')
  const first = Date.now() + 3_000
  const due = new Map<string, number>()
  const drafts = Array.from({ length: TIMED }, (_, n) => {
    const scheduled_at = new Date(first + (n * SPREAD_MS) / TIMED)
    const to = `ok-${randomUUID()}@sink.internal`
    const email = CompleteEmail.parse({ ...EMAIL, to, scheduled_at: scheduled_at.toJSON() })
    const draft = toDraft(caller, email, null, stage.config.SIMULATOR_DOMAIN)
    due.set(to, scheduled_at.getTime())
    return draft
  })
  const arrived = sink.arrived(sink.messages + TIMED)
  await acceptEmails(stage.pool, drafts)
  await arrived
  return sink.ledger.flatMap(({ rcpt, time }) => (due.has(rcpt) ? [time - (due.get(rcpt) as number)] : []))
}
