import { setTimeout as sleep } from 'node:timers/promises'
import {
  API,
  addContacts,
  ask,
  BASE_URL,
  destinationOf,
  Latencies,
  PORT,
  runReaches,
  startCampaign,
} from '#test/bench/support/campaigns.ts'
import { measureDisk } from '#test/bench/support/disk.ts'
import { generateLoad } from '#test/bench/support/generate_load.ts'
import { interleave, openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'
import { type Sink, startSink } from '#test/faults/support/sink.ts'
import { drain, EHLO, inProcess } from './deliver.ts'

const RECIPIENTS = Number(process.env.BENCH_RECIPIENTS ?? 100_000)
const PREBUILT = 20_000
/** Emails sent beside the campaign, to each kind of destination. */
const POSTS = 200
/** Emails after which a worker is as fast as it gets, more or less. */
const WARMING = 12_000

type Ground = { stage: Stage; sink: Sink; latencies: Latencies }

/** Recipients of a campaign per second, what else is sent meanwhile, and the disk that one recipient takes. */
export async function benchCampaign(): Promise<void> {
  const latencies = new Latencies()
  const stage = await openStage()
  const sink = await startSink({ discard: true, ehlo: EHLO, onMessage: latencies.note })
  const ground = { stage, sink, latencies }
  try {
    await stage.spawn('api/server.ts', { PORT, BASE_URL })
    await addContacts(stage, RECIPIENTS)
    await measureBeside(ground)
    await measureDisk(stage, RECIPIENTS, () => drainCampaign(ground, 'worker.ts', TRACKED))
    const figures = await interleave({
      'campaign, unsigned': () => drainCampaign(ground, 'unsigned_worker.ts'),
      'campaign, tracked and signed': () => drainCampaign(ground, 'worker.ts', TRACKED),
      'queue of single emails, signed': () => drainSingle(ground),
      'prebuilt mail by SMTPConnection': () => inProcess('prebuilt_sender.ts', sink, PREBUILT),
    })
    const [unsigned, signed, single, prebuilt] = Object.values(figures) as [number, number, number, number]
    const part = unsigned / prebuilt
    report('B6 unsigned', `${(100 * part).toFixed(1)} % of prebuilt mail`, '>= 15 %', part >= 0.15)
    const gain = unsigned / single
    report('B6 unsigned', `${gain.toFixed(2)} x the signed drain of single emails`, '>= 1.4 x', gain >= 1.4)
    const ratio = signed / single
    report('B22 tracked and signed', `${ratio.toFixed(2)} x that drain`, '>= 0.8 x', ratio >= 0.8)
  } finally {
    await stage.close()
    await sink.close()
  }
}

const TRACKED = { track_opens: true, track_clicks: true }
const UNTRACKED = { track_opens: false, track_clicks: false }

/** Emails per second from the first to the last one, their storing included. */
async function drainCampaign({ stage, sink }: Ground, file: string, fields: object = UNTRACKED): Promise<number> {
  const worker = await stage.spawn(`test/bench/support/${file}`, { MAIL_TRANSPORT: sink.url, BASE_URL })
  const first = sink.arrived(sink.messages + 1).then(() => performance.now())
  const last = sink.arrived(sink.messages + RECIPIENTS).then(() => performance.now())
  const id = await startCampaign(stage, fields)
  const seconds = ((await last) - (await first)) / 1_000
  await runReaches(stage.pool, id, 'finished_at IS NOT NULL')
  await worker.stop()
  return RECIPIENTS / seconds
}

/** B4. */
async function drainSingle({ stage, sink }: Ground): Promise<number> {
  const worker = await stage.spawn('test/bench/support/worker.ts', { MAIL_TRANSPORT: sink.url, BASE_URL })
  const warmed = sink.arrived(sink.messages + WARMING)
  await generateLoad(`${API}/emails`, stage.key, WARMING)
  await warmed
  const rate = await drain(stage, sink, worker)
  await worker.stop()
  return rate
}

/** From the request to the sink while a campaign is sent: to a destination of it, and to another. */
async function measureBeside({ stage, sink, latencies }: Ground): Promise<void> {
  const worker = await stage.spawn('test/bench/support/worker.ts', { MAIL_TRANSPORT: sink.url, BASE_URL })
  const idle: number[] = []
  for (let n = 0; n < POSTS / 4; n++) idle.push(await latencies.measure(stage, 'elsewhere.com'))
  const before = sink.messages
  const id = await startCampaign(stage, TRACKED)
  await sink.arrived(before + Math.min(WARMING, RECIPIENTS / 10))
  const [same, other]: [number[], number[]] = [[], []]
  for (let n = 0; n < POSTS && sink.messages < before + RECIPIENTS * 0.95; n++) {
    same.push(await latencies.measure(stage, destinationOf(0)))
    other.push(await latencies.measure(stage, 'elsewhere.com'))
    await sleep(10)
  }
  console.log(
    `  without a campaign: p50 ${percentile(idle, 0.5).toFixed(0)} ms, p95 ${percentile(idle, 0.95).toFixed(0)} ms`,
  )
  console.log(`  beside a campaign of ${RECIPIENTS}, of which ${sink.messages - before} were sent at the end`)
  tell('beside a campaign, to a destination of it', same, 150)
  tell('beside a campaign, to another one', other, 60)
  await ask(stage, 'POST', `/campaigns/${id}/cancel`).catch(() => {}) // it may be over
  await runReaches(stage.pool, id, 'finished_at IS NOT NULL')
  await worker.stop()
}

function tell(name: string, times: number[], goal: number): void {
  const [p50, p95] = [percentile(times, 0.5), percentile(times, 0.95)]
  const figure = `${times.length} emails, p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms, most ${Math.max(...times).toFixed(0)}`
  report(name, figure, `p95 < ${goal} ms`, p95 < goal)
}
