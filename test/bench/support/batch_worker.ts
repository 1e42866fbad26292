import { run } from 'graphile-worker'
import { startOnFoundation, superviseProcess } from '#flows/process/run_process.ts'
import { processBatch } from '#flows/sending/process_batch.ts'
import { jobs } from '#lib/jobs.ts'
import { silentLogger } from '#sql/graphile.ts'

/** A worker that stores batches and sends nothing: sending is measured separately, and its jobs are ignored. */
await superviseProcess(() =>
  startOnFoundation(async ({ config, pool }) => {
    const runner = await run({
      connectionString: config.DATABASE_URL,
      noHandleSignals: true,
      logger: silentLogger,
      crontab: '',
      taskList: {
        process_batch: async payload => {
          const { account_id, batch_id } = jobs.process_batch.parse(payload)
          await processBatch(pool, { account_id, id: batch_id })
        },
      },
      preset: {
        worker: { concurrentJobs: 4, completeJobBatchDelay: 0, failJobBatchDelay: 0, localQueue: { size: 100 } },
      },
    })
    console.log('ready')
    return { stop: () => runner.stop() }
  }),
)
