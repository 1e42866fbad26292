import { EventEmitter } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Runner as GraphileRunner, run, type WorkerEvents } from 'graphile-worker'
import type { Foundation } from '#flows/process/run_process.ts'
import { waitAtMost } from '#lib/async/wait_at_most.ts'
import type { Log } from '#lib/log.ts'
import { graphileLogger, openGraphilePool, RUNNER_CONNECTIONS } from '#sql/graphile.ts'
import { LostConnectionError } from '#sql/outage.ts'
import { type RunnerName, taskList } from '#tasks/index.ts'
import type { Work } from '#tasks/task.ts'

/** Time that runners have to stop. Without a database, graphile-worker itself would retry for minutes or forever. */
const RUNNERS_STOP_MS = 20_000

/** `promise` settles once the runner has ended. */
export type Runner = Pick<GraphileRunner, 'stop' | 'promise'>

export async function stopRunners(runners: Runner[], log: Log): Promise<void> {
  const stops = runners.map(runner =>
    runner.stop().catch(error => log.warn({ err: error }, 'a runner could not be stopped')),
  )
  await waitAtMost(RUNNERS_STOP_MS, Promise.all(stops))
}

/** Starts one of two runners. In a single one, quick jobs would wait behind slow ones while other workers idle. */
export async function startRunner(
  runner: RunnerName,
  { config, log }: Foundation,
  work: Work,
  pool_ids: Set<string>,
): Promise<Runner> {
  const events = new EventEmitter() as WorkerEvents
  events.on('pool:create', ({ workerPool }) => pool_ids.add(workerPool.id))
  events.on('pool:listen:error', ({ error }) =>
    log.error({ err: new LostConnectionError(error as Error), runner }, 'the job queue lost its connection'),
  )
  let isStopped = false // also by itself, once it has lost the database
  events.on('stop', () => {
    isStopped = true
  })
  const logger = graphileLogger(log)
  const pgPool = openGraphilePool(config.DATABASE_URL as string, RUNNER_CONNECTIONS, logger)
  const running = await run({
    pgPool,
    taskList: taskList(runner, work),
    noHandleSignals: true,
    logger,
    events,
    ...(runner === 'slow'
      ? { crontabFile: fileURLToPath(new URL('../tasks/crontab', import.meta.url)) }
      : { crontab: '' }),
    preset: {
      worker: {
        concurrentJobs: 4,
        pollInterval: 500,
        // Without these, a job that finishes during a stop stays locked (regression test: test/workers/worker.test.ts).
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        ...(runner === 'quick' ? { localQueue: { size: 100 } } : {}),
      },
    },
  }).catch(error => {
    pgPool.end()
    throw error
  })
  const stop = async () => {
    try {
      if (!isStopped) await running.stop()
    } finally {
      // Not awaited, since a statement may hang until the process ends. A worker may be stopped twice.
      if (!pgPool.ending) pgPool.end()
    }
  }
  return { stop, promise: running.promise }
}
