import { countLockedJobs, countStates, waitForNone } from '#test/faults/support/deliveries.ts'
import { feed, type Stage } from '#test/faults/support/stage.ts'
import { FAULT_TIMES } from '#test/faults/support/worker.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { emails: number; stops: number }

const GRACE = 10 // s beyond the drain, for a busy machine

/**
 * A worker gets SIGTERM while it sends and jobs arrive. It gives back unsent emails and waits for outstanding replies: nothing is
 * lost, duplicated or in doubt, and no job stays locked.
 */
export async function stopWorker(stage: Stage, { emails, stops }: Options): Promise<Report> {
  const report = new Report()
  const sink = await stage.startSink()
  const environment = { MAIL_TRANSPORT: sink.url, LOG_LEVEL: 'error' }
  const share = Math.ceil(emails / stops)
  const took: number[] = []
  const left = { locked: 0, sending: 0, in_doubt: 0 }
  for (let stop = 1; stop <= stops; stop++) {
    const worker = stage.start('test/faults/support/worker.ts', environment)
    await worker.says(/^ready$/)
    const feeding = feed(stage, share, (stop - 1) * share, ['ok', 'slow250-300'])
    await sink.ledger.reaches(sink.ledger.read().length + Math.ceil(Math.random() * 0.5 * share))
    const start = performance.now()
    worker.kill('SIGTERM')
    const exit = await worker.ended
    took.push(Number(((performance.now() - start) / 1_000).toFixed(1)))
    report.expect(exit.code === 0, `stop ${stop} ended with ${JSON.stringify(exit)}: ${worker.lines.slice(-3)}`)
    const { sending = 0, in_doubt = 0 } = await countStates(stage)
    left.locked += await countLockedJobs(stage)
    left.sending += sending
    left.in_doubt += in_doubt
    await feeding
  }
  const last = stage.start('test/faults/support/worker.ts', environment)
  await waitForNone(stage, ['queued', 'sending'])
  await last.stop()

  const { delivered, ever_in_doubt = 0 } = await countStates(stage)
  const duplicates = sink.ledger.duplicates()
  report.note({ emails: share * stops, stops, delivered, duplicates, ever_in_doubt, left, stop_seconds: took })
  report.expect(delivered === share * stops, `${delivered} were delivered`)
  report.expect(duplicates === 0 && ever_in_doubt === 0, 'a stop left duplicates or emails in doubt')
  report.expect(left.locked === 0, 'a stop left jobs locked')
  report.expect(left.sending === 0, 'a stop did not give back everything')
  report.expect(Math.max(...took) < FAULT_TIMES.drain_ms / 1_000 + GRACE, 'it took too long to end')
  await report.consult(stage, { sent: sink.ledger.read() })
  return report
}

/** node test/faults/stop_worker.ts [--emails 4000] [--stops 20] */
if (import.meta.main) {
  const options = readOptions({ emails: 4_000, stops: 20 })
  await runCampaign('SIGTERM to a worker while it sends', stage => stopWorker(stage, options))
}
