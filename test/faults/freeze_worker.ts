import { setTimeout as sleep } from 'node:timers/promises'
import type { Child } from '#test/faults/support/child.ts'
import { countStates, makeAllDue, waitForNone } from '#test/faults/support/deliveries.ts'
import { feed, type SinkProcess, type Stage } from '#test/faults/support/stage.ts'
import { FAULT_TIMES } from '#test/faults/support/worker.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { emails: number; freezes: number }

/** Longer than the lease, so that the sweep takes over the deliveries of the frozen worker. */
const FROZEN_MS = (FAULT_TIMES.lease_seconds + 2) * 1_000

/** Time for the replies that came while it was frozen, which settle deliveries in doubt. */
const LATE_MS = 1_000

/**
 * One of two workers is frozen beyond its lease while sending, then resumes. The other one has taken over: the first must not
 * send what had not passed its fence.
 */
export async function freezeWorker(stage: Stage, { emails, freezes }: Options): Promise<Report> {
  const report = new Report()
  const sink = await stage.startSink()
  const workers = await startWorkers(stage, sink, 2)
  const share = Math.ceil(emails / freezes)
  for (let freeze = 0; freeze < freezes; freeze++) {
    const worker = workers[freeze % 2] as Child
    const feeding = feed(stage, share, freeze * share, ['ok', 'slow250-100'])
    await sink.ledger.reaches(sink.ledger.read().length + Math.ceil(Math.random() * 0.5 * share))
    worker.kill('SIGSTOP')
    await Promise.all([feeding, sleep(FROZEN_MS)])
    worker.kill('SIGCONT')
    await sleep(LATE_MS)
    await waitForNone(stage, ['queued', 'sending'])
  }
  await makeAllDue(stage)
  await waitForNone(stage, ['queued', 'sending', 'in_doubt'])
  report.note({ emails: share * freezes, freezes })
  return conclude(report, stage, sink, workers, share * freezes)
}

/** Several running workers claim from one queue, and none claims the deliveries of another. */
async function shareQueue(stage: Stage, { emails, count }: { emails: number; count: number }): Promise<Report> {
  const report = new Report()
  const sink = await stage.startSink()
  await feed(stage, emails)
  const workers = await startWorkers(stage, sink, count)
  await waitForNone(stage, ['queued', 'sending'])
  report.note({ emails, workers: count })
  report.expect(sink.ledger.duplicates() === 0, 'running workers sent messages twice')
  return conclude(report, stage, sink, workers, emails)
}

function startWorkers(stage: Stage, sink: SinkProcess, count: number): Promise<Child[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const worker = stage.start('test/faults/support/worker.ts', { MAIL_TRANSPORT: sink.url, LOG_LEVEL: 'error' })
      await worker.says(/^ready$/)
      return worker
    }),
  )
}

async function conclude(report: Report, stage: Stage, sink: SinkProcess, workers: Child[], emails: number) {
  const exits = await Promise.all(workers.map(worker => worker.stop()))
  const { delivered, ever_in_doubt = 0 } = await countStates(stage)
  report.note({ delivered, duplicates: sink.ledger.duplicates(), ever_in_doubt })
  report.expect(delivered === emails, `${delivered} of ${emails} are delivered`)
  report.expect(
    exits.every(({ code }) => code === 0),
    `the workers ended with ${JSON.stringify(exits)}`,
  )
  await report.consult(stage, { sent: sink.ledger.read() })
  return report
}

/** node test/faults/freeze_worker.ts [--emails 6000] [--freezes 20] [--shared 20000] [--workers 4] */
if (import.meta.main) {
  const { shared, workers, ...options } = readOptions({ emails: 6_000, freezes: 6, shared: 5_000, workers: 4 })
  await runCampaign('SIGSTOP of one of two workers, past its lease', stage => freezeWorker(stage, options))
  await runCampaign('workers that share a queue', stage => shareQueue(stage, { emails: shared, count: workers }))
}
