import { Advancer, AUTOMATION_TIMES, type AutomationTimes } from '#flows/automations/engine/advancer.ts'
import { sweepCampaigns } from '#flows/campaigns/sending/send_campaign.ts'
import { IMPORT_TIMES, Importer, type ImportTimes } from '#flows/contacts/import/importer.ts'
import { sweepDeliveries } from '#flows/delivery/recover_deliveries.ts'
import { SENDER_TIMES, Sender, type SenderTimes } from '#flows/delivery/sender.ts'
import { createTransport } from '#flows/delivery/transports.ts'
import { createBlobs } from '#flows/files/blobs.ts'
import { type Foundation, type Running, startOnFoundation, superviseProcess } from '#flows/process/run_process.ts'
import { sweepPools } from '#flows/process/sweep_pools.ts'
import { startClockSync } from '#flows/process/sync_clock.ts'
import { sweepReceivedEmails } from '#flows/receiving/sweep_emails.ts'
import { startIndexer } from '#flows/sending/index_emails.ts'
import { sweepBatches } from '#flows/sending/process_batch.ts'
import { WebhookSender } from '#flows/webhooks/sender.ts'
import { sweepWebhooks } from '#flows/webhooks/sweep_disabled.ts'
import { WEBHOOK_TIMES, type WebhookTimes } from '#flows/webhooks/times.ts'
import type { SmtpTimeouts } from '#lib/delivery/smtp/server.ts'
import { createDns } from '#lib/net/dns.ts'
import { countLiveWorkers, deleteHeartbeats, upsertHeartbeats } from '#sql/process/worker_heartbeats.ts'
import type { Work } from '#tasks/task.ts'
import { type Runner, startRunner, stopRunners } from './runners.ts'

/** Times of a worker process. Tests pass shorter ones. */
export type WorkerTimes = SenderTimes & {
  sweep_ms: number
  index_ms: number
  pool_beat_ms: number
  pool_dead_seconds: number
  webhooks: WebhookTimes
  imports: ImportTimes
  automations: AutomationTimes
}

const WORKER_TIMES: WorkerTimes = {
  ...SENDER_TIMES,
  sweep_ms: 10_000,
  index_ms: 2_000,
  pool_beat_ms: 15_000,
  pool_dead_seconds: 60,
  webhooks: WEBHOOK_TIMES,
  imports: IMPORT_TIMES,
  automations: AUTOMATION_TIMES,
}

type Options = { times?: WorkerTimes; timeouts?: SmtpTimeouts }

/** Runs the tasks, the senders, and the sweeps that recover the work of dead workers. */
export async function startWorker(foundation: Foundation, options: Options = {}): Promise<Running> {
  const { config, log, pool, secrets } = foundation
  const times = options.times ?? WORKER_TIMES
  const transport = createTransport({ ...foundation, timeouts: options.timeouts })
  const blobs = createBlobs(foundation)
  const sender = new Sender({ ...foundation, transport, blobs, times })
  const webhooks = new WebhookSender({ ...foundation, times: times.webhooks })
  const importer = new Importer({ pool, log, blobs, times: times.imports })
  const automations = new Advancer({ pool, log, config, times: times.automations })
  const dns = createDns(config.DNS_SERVERS)
  const work: Work = { config, pool, log, secrets, sender, webhooks, importer, automations, blobs, dns }
  const pool_ids = new Set<string>()
  const quick = await startRunner('quick', foundation, work, pool_ids)
  const slow = await startRunner('slow', foundation, work, pool_ids)
  let isStopping = false

  const beat = async () => {
    await upsertHeartbeats(pool, [...pool_ids])
    transport.shareWith?.(await countLiveWorkers(pool, times.pool_dead_seconds))
  }
  await beat()
  sender.start()
  webhooks.start()
  importer.start()
  automations.start()
  const clock = startClockSync(pool, log)
  const indexer = startIndexer(pool, log, times.index_ms)
  const timers = startTimers(foundation, times, beat)

  return {
    failed: failureOf([quick, slow], () => isStopping),
    async stop() {
      isStopping = true
      for (const timer of timers) clearInterval(timer)
      clock.stop()
      const loops = [sender.stop(), webhooks.stop(), importer.stop(), automations.stop(), indexer.stop()]
      await Promise.all([stopRunners([quick, slow], log), ...loops])
      blobs.close()
      await deleteHeartbeats(pool, [...pool_ids]).catch(error =>
        log.warn({ err: error }, 'heartbeats could not be deleted'),
      )
    },
  }
}

/** Starts the heartbeat of the process, and the sweeps that recover the work of dead workers. */
function startTimers({ pool, log, config }: Foundation, times: WorkerTimes, beat: () => Promise<void>) {
  const every = (ms: number, what: string, act: () => Promise<void>) =>
    setInterval(
      oneAtATime(() => act().catch(error => log.error({ err: error }, `${what} failed`))),
      ms,
    )
  return [
    every(times.pool_beat_ms, 'the heartbeat', beat),
    every(times.sweep_ms, 'the sweep of deliveries', () => sweepDeliveries(pool, log, config)),
    every(times.sweep_ms, 'the sweep of campaigns', () => sweepCampaigns(pool, log)),
    every(times.sweep_ms, 'the sweep of batches', () => sweepBatches(pool)),
    every(times.sweep_ms, 'the sweep of received mail', () => sweepReceivedEmails(pool, log)),
    every(times.sweep_ms, 'the sweep of webhooks', () => sweepWebhooks(pool)),
    every(times.sweep_ms, 'the sweep of jobs', () => sweepPools(pool, log, times.pool_dead_seconds)),
  ]
}

/** Skips calls while one is in progress: slow ones would otherwise pile up, wait for each other and use up the pool. */
function oneAtATime(act: () => Promise<void>): () => void {
  let isBusy = false
  return async () => {
    if (isBusy) return
    isBusy = true
    await act()
    isBusy = false
  }
}

/** Rejects if a runner settles before the stop. Even if it resolves, it has given up, and the process must be replaced. */
function failureOf(runners: Runner[], isStopping: () => boolean): Promise<never> {
  const failed = Promise.race(runners.map(({ promise }) => promise)).then(() => {
    if (isStopping()) return new Promise<never>(() => {})
    throw new Error('the job queue stopped by itself')
  })
  failed.catch(() => {})
  return failed
}

if (import.meta.main) await superviseProcess(() => startOnFoundation(startWorker))
