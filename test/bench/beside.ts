import { setTimeout as sleep } from 'node:timers/promises'
import {
  ask,
  type CampaignStage,
  destinationOf,
  onCampaignStage,
  runReaches,
  startCampaign,
  startWorker,
} from '#test/bench/support/campaigns.ts'
import { measureDisk } from '#test/bench/support/disk.ts'
import { percentile, report } from '#test/bench/support/stage.ts'

const RECIPIENTS = Number(process.env.BENCH_RECIPIENTS ?? 100_000)
/** Emails sent during the campaign, to each kind of destination. */
const POSTS = 200
/** Emails of the campaign that are sent before those. */
const WARMING = Math.min(12_000, RECIPIENTS / 10)
const TRACKED = { track_opens: true, track_clicks: true }

/** How long other emails take during a campaign, and the disk space per recipient of it. */
export function benchBeside(): Promise<void> {
  return onCampaignStage(RECIPIENTS, async opened => {
    const { stage } = opened
    const worker = await startWorker(opened)
    await measureBeside(opened)
    await measureDisk(stage, RECIPIENTS, async () => {
      const start = performance.now()
      await runReaches(stage.pool, await startCampaign(stage, TRACKED), 'finished_at IS NOT NULL')
      console.log(`  ${(RECIPIENTS / ((performance.now() - start) / 1_000)).toFixed(0)}/s from start to end`)
    })
    await worker.stop()
  })
}

/** The time from the request to the sink during a campaign: to one of its destinations, and to another. */
async function measureBeside({ stage, sink, latencies }: CampaignStage): Promise<void> {
  const idle: number[] = []
  for (let n = 0; n < POSTS / 4; n++) idle.push(await latencies.measure(stage, 'elsewhere.com'))
  const before = sink.messages
  const id = await startCampaign(stage, TRACKED)
  await sink.arrived(before + WARMING)
  const [start, sent] = [performance.now(), sink.messages]
  const [same, other]: [number[], number[]] = [[], []]
  for (let n = 0; n < POSTS && sink.messages < before + RECIPIENTS * 0.95; n++) {
    same.push(await latencies.measure(stage, destinationOf(0)))
    other.push(await latencies.measure(stage, 'elsewhere.com'))
    await sleep(10)
  }
  const rate = (sink.messages - sent - same.length - other.length) / ((performance.now() - start) / 1_000)
  console.log(
    `  without a campaign: p50 ${percentile(idle, 0.5).toFixed(0)} ms, p95 ${percentile(idle, 0.95).toFixed(0)} ms`,
  )
  console.log(`  during a campaign of ${RECIPIENTS}, which went on at ${rate.toFixed(0)}/s`)
  tell('during a campaign, to one of its destinations', same, 150)
  tell('during a campaign, to another destination', other, 60)
  await ask(stage, 'POST', `/campaigns/${id}/cancel`).catch(() => {}) // it may have ended
  await runReaches(stage.pool, id, 'finished_at IS NOT NULL')
}

function tell(name: string, times: number[], goal: number): void {
  const [p50, p95] = [percentile(times, 0.5), percentile(times, 0.95)]
  const figure = `${times.length} emails, p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms, most ${Math.max(...times).toFixed(0)}`
  report(name, figure, `p95 < ${goal} ms`, p95 < goal)
}
