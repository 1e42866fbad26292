import { startOnFoundation, superviseProcess } from '#flows/process/run_process.ts'
import { startWorker } from '#workers/worker.ts'

/** The worker process; it prints `ready`. */
await superviseProcess(async () => {
  const running = await startOnFoundation(startWorker)
  console.log('ready')
  return running
})
