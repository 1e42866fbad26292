import {
  API,
  type CampaignStage,
  onCampaignStage,
  runReaches,
  startCampaign,
  startWorker,
  type WorkerFile,
} from '#test/bench/support/campaigns.ts'
import { generateLoad } from '#test/bench/support/generate_load.ts'
import { interleave, report } from '#test/bench/support/stage.ts'
import { drain, inProcess } from './deliver.ts'

/** As many as leave time for three rounds. */
const RECIPIENTS = Number(process.env.BENCH_RECIPIENTS ?? 20_000)
const PREBUILT = 20_000
/** Emails after which a worker has about reached full speed. */
const WARMING = 12_000

/** Recipients of a campaign per second, compared with the single emails of a full queue and with prebuilt messages. */
export function benchCampaign(): Promise<void> {
  return onCampaignStage(RECIPIENTS, async ground => {
    const figures = await interleave({
      'campaign, unsigned': () => drainCampaign(ground, 'unsigned_worker.ts'),
      'campaign, tracked and signed': () => drainCampaign(ground, 'worker.ts', TRACKED),
      'queue of single emails, signed': () => drainSingle(ground),
      'prebuilt mail by SMTPConnection': () => inProcess('prebuilt_sender.ts', ground.sink, PREBUILT),
    })
    const [unsigned, signed, single, prebuilt] = Object.values(figures) as [number, number, number, number]
    const part = unsigned / prebuilt
    report('campaign, unsigned', `${(100 * part).toFixed(1)} % of prebuilt mail`, '>= 15 %', part >= 0.15)
    const gain = unsigned / single
    report('campaign, unsigned', `${gain.toFixed(2)} x the signed drain of single emails`, '>= 1.4 x', gain >= 1.4)
    const ratio = signed / single
    report('campaign, tracked and signed', `${ratio.toFixed(2)} x the signed drain`, '>= 0.8 x', ratio >= 0.8)
  })
}

const TRACKED = { track_opens: true, track_clicks: true }
const UNTRACKED = { track_opens: false, track_clicks: false }

/** Emails per second from the first to the last one, including their storage. */
async function drainCampaign(ground: CampaignStage, file: WorkerFile, fields: object = UNTRACKED): Promise<number> {
  const { stage, sink } = ground
  const worker = await startWorker(ground, file)
  const first = sink.arrived(sink.messages + 1).then(() => performance.now())
  const last = sink.arrived(sink.messages + RECIPIENTS).then(() => performance.now())
  const id = await startCampaign(stage, fields)
  const seconds = ((await last) - (await first)) / 1_000
  await runReaches(stage.pool, id, 'finished_at IS NOT NULL')
  await worker.stop()
  return RECIPIENTS / seconds
}

/** The drain of `bench deliver`. */
async function drainSingle(ground: CampaignStage): Promise<number> {
  const { stage, sink } = ground
  const worker = await startWorker(ground)
  const warmed = sink.arrived(sink.messages + WARMING)
  await generateLoad(`${API}/emails`, stage.key, WARMING)
  await warmed
  const rate = await drain(stage, sink, worker)
  await worker.stop()
  return rate
}
