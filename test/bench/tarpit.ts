import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { acceptEmails } from '#flows/sending/accept_emails.ts'
import { toDraft } from '#flows/sending/draft_emails.ts'
import { hashApiKey } from '#lib/api_key.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'
import { findCaller } from '#sql/accounts/api_keys.ts'
import { EMAIL } from '#test/bench/support/generate_load.ts'
import { median, openStage, percentile, ROUNDS, report, type Stage } from '#test/bench/support/stage.ts'
import { type Sink, startSink } from '#test/faults/support/sink.ts'
import { startZone } from '#test/support/dns/name_server.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { EHLO } from './deliver.ts'

/** Domains with their own servers: some never finish their greeting, others respond at once. */
const TARPITS = [72, 73, 74, 75, 76]
const HEALTHY = [64, 65]
const TARPITTED = 200
const TIMED = 500
const EVERY_MS = 10

type Bench = { stage: Stage; sinks: Sink[]; accept(domain: string): Promise<string> }

/** How long emails take to servers that respond, with and without 200 emails queued for servers that do not. */
export async function benchTarpit(): Promise<void> {
  const stage = await openStage()
  const ends: (() => unknown)[] = []
  try {
    const sinks = await startSinks(HEALTHY, { ehlo: EHLO })
    const port = sinks[0]?.port
    const tarpits = await startSinks(TARPITS, { greeting: 'dribble', port })
    ends.push(...[...sinks, ...tarpits].map(sink => () => sink.close()))
    const { server, zone } = await startZone({ teardown: end => ends.push(end as () => unknown) })
    for (const n of [...HEALTHY, ...TARPITS]) zone[`to${n}.com`] = { A: [`127.0.0.${n}`] }
    const environment = {
      MAIL_TRANSPORT: 'direct',
      DNS_SERVERS: server,
      MX_PORT: String(port),
      MX_ALLOW: '127.0.0.64/27',
    }
    await stage.spawn('test/bench/support/worker.ts', environment)
    const bench = { stage, sinks, accept: await accepter(stage) }
    await measure(bench, null) // a warm-up, not counted
    const before = await measureRounds(bench, 'without tarpits')
    for (let n = 0; n < TARPITTED; n++) await bench.accept(`to${TARPITS[n % TARPITS.length]}.com`)
    await waitUntil(() => tarpits.every(({ connections }) => connections > 0), 'every tarpit has a connection')
    const after = await measureRounds(bench, `with ${TARPITTED} tarpitted`)
    const ratio = after / before
    report('p95 with tarpits', `${ratio.toFixed(2)} x without them`, '< 2 x', ratio < 2)
  } finally {
    await stage.close()
    for (const end of ends) await end()
  }
}

async function startSinks(numbers: number[], options: { ehlo?: string; greeting?: string; port?: number | undefined }) {
  const sinks: Sink[] = []
  for (const n of numbers) {
    const port = options.port ?? sinks[0]?.port ?? 0
    sinks.push(await startSink({ ...options, port, host: `127.0.0.${n}` }))
  }
  return sinks
}

/** Accepts an email to a domain like the API; returns its recipient. */
async function accepter({ pool, secrets, key, config }: Stage): Promise<(domain: string) => Promise<string>> {
  const caller = await findCaller(pool, hashApiKey(key, secrets.pepper))
  if (!caller) throw new Error('the key of the benchmark is unknown')
  return async domain => {
    const to = `ok-${randomUUID()}@${domain}`
    const draft = toDraft(caller, CompleteEmail.parse({ ...EMAIL, to }), null, config.SIMULATOR_DOMAIN)
    await acceptEmails(pool, [draft])
    return to
  }
}

async function measureRounds(bench: Bench, name: string): Promise<number> {
  const figures: number[] = []
  for (let round = 1; round <= ROUNDS; round++) figures.push(await measure(bench, `round ${round}  ${name}`))
  return median(figures)
}

/** The p95 in ms from acceptance to arrival, at a constant rate. */
async function measure({ sinks, accept }: Bench, name: string | null): Promise<number> {
  const arrived = Promise.all(sinks.map(sink => sink.arrived(sink.messages + TIMED / sinks.length)))
  const begun = new Map<string, number>()
  for (let n = 0; n < TIMED; n++) {
    const next = sleep(EVERY_MS)
    const time = Date.now()
    begun.set(await accept(`to${HEALTHY[n % HEALTHY.length]}.com`), time)
    await next
  }
  await arrived
  const times = sinks.flatMap(({ ledger }) =>
    ledger.flatMap(({ rcpt, time }) => (begun.has(rcpt) ? [time - (begun.get(rcpt) as number)] : [])),
  )
  const p95 = percentile(times, 0.95)
  if (name) console.log(`  ${name.padEnd(34)} p50 ${percentile(times, 0.5).toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`)
  return p95
}
