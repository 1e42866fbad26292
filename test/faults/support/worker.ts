import { IMPORT_TIMES } from '#flows/contacts/import/importer.ts'
import { startOnFoundation, superviseProcess } from '#flows/process/run_process.ts'
import { WEBHOOK_TIMES } from '#flows/webhooks/times.ts'
import { startWorker, type WorkerTimes } from '#workers/worker.ts'

/** Seconds instead of the tens of seconds in production. */
export const FAULT_TIMES: WorkerTimes = {
  lease_seconds: 5,
  heartbeat_ms: 1_500,
  poll_ms: 200,
  drain_ms: 30_000,
  keys_ms: 500,
  sweep_ms: 1_000,
  index_ms: 500,
  pool_beat_ms: 1_500,
  pool_dead_seconds: 5,
  automations: { poll_ms: 200 },
  imports: { ...IMPORT_TIMES, poll_ms: 500, lease_seconds: 5, heartbeat_ms: 1_000 },
  webhooks: {
    ...WEBHOOK_TIMES,
    retry_seconds: WEBHOOK_TIMES.retry_seconds.map(() => 0.5),
    first_rest_seconds: 0.5,
    longest_rest_seconds: 2,
    lease_seconds: 5,
    heartbeat_ms: 1_500,
    poll_ms: 200,
  },
}

const timeouts = { connect: 5_000, message: 20_000, dot: 30_000 }

/** The worker process with short times; it prints `ready`. */
if (import.meta.main) {
  await superviseProcess(async () => {
    const running = await startOnFoundation(foundation => startWorker(foundation, { times: FAULT_TIMES, timeouts }))
    console.log('ready')
    return running
  })
}
