import { setTimeout as sleep } from 'node:timers/promises'
import { countStates, listBeyondFence, makeAllDue, waitForNone } from '#test/faults/support/deliveries.ts'
import { startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { feed, type Stage } from '#test/faults/support/stage.ts'
import { FAULT_TIMES } from '#test/faults/support/worker.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, runCampaign } from './campaign.ts'
import { addJobs, holdTable, waitForLocks } from './locked_jobs.ts'

type Options = { how: 'refuse' | 'blackhole'; isAsked: boolean; emails: number; jobs: number }

/** Time beyond the drain: for running statements, one more attempt for each result, and open connections. */
const BEYOND_DRAIN_MS = 60_000

/**
 * Postgres goes away for good while a worker executes jobs and waits for replies. The job queue gives up; the process keeps its
 * results for as long as a stop may take and then exits with 1, never with 0, and never hangs. Without `emails` it has no
 * results. `isAsked`: it gets SIGTERM meanwhile, which must end it too.
 */
export async function loseDatabase(stage: Stage, { how, isAsked, emails, jobs }: Options): Promise<Report> {
  const report = new Report()
  const sink = await stage.startSink()
  const proxy = await startPgProxy(stage.url)
  const environment = { MAIL_TRANSPORT: sink.url, LOG_LEVEL: 'fatal' }
  const worker = stage.start('test/faults/support/worker.ts', { ...environment, DATABASE_URL: proxy.url })
  try {
    await worker.says(/^ready$/)
    await feed(stage, emails, 0, ['slow250-3000'])
    await feed(stage, jobs, emails)
    if (emails > 0)
      await waitUntil(async () => (await listBeyondFence(stage)).length > 0, 'a delivery waits for its reply')
    else await waitForNone(stage, ['queued', 'sending'])
    const release = await holdTable(stage)
    await addJobs(stage, jobs)
    await waitForLocks(stage)
    if (how === 'refuse') proxy.refuse(true)
    else proxy.blackhole(true)
    if (how === 'refuse') proxy.cut()
    await release()
    const start = performance.now()
    if (isAsked) worker.kill('SIGTERM')
    const exit = await Promise.race([worker.ended, sleep(FAULT_TIMES.drain_ms + BEYOND_DRAIN_MS, null, { ref: false })])
    report.note({ how, isAsked, exit, ended_after_ms: Math.round(performance.now() - start) })
    report.expect(exit !== null, 'the worker did not end')
    report.expect(isAsked || exit?.code === 1, `the worker ended with ${JSON.stringify(exit)}`)
  } finally {
    worker.kill('SIGKILL')
    await proxy.close()
  }
  await takeOver(stage, report, environment, emails + jobs)
  await report.consult(stage, { sent: sink.ledger.read() })
  return report
}

/** Once there is a database again, another worker finishes what is left. */
async function takeOver(stage: Stage, report: Report, environment: Record<string, string>, emails: number) {
  const heir = stage.start('test/faults/support/worker.ts', environment)
  await sleep(FAULT_TIMES.lease_seconds * 1_000)
  await waitForNone(stage, ['queued', 'sending'])
  await makeAllDue(stage)
  await waitForNone(stage, ['queued', 'sending', 'in_doubt'])
  await heir.stop()
  const { delivered, ever_in_doubt = 0 } = await countStates(stage)
  report.note({ emails, delivered, ever_in_doubt })
  report.expect(delivered === emails, `${delivered} of ${emails} were delivered`)
}

/** node test/faults/lose_database.ts */
if (import.meta.main) {
  for (const [how, isAsked] of [
    ['refuse', false],
    ['refuse', true],
    ['blackhole', true],
  ] as const) {
    await runCampaign(`Postgres gone for good (${how})${isAsked ? ', then SIGTERM' : ''}`, stage =>
      loseDatabase(stage, { how, isAsked, emails: 30, jobs: 100 }),
    )
  }
}
