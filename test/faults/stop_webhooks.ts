import { setTimeout as sleep } from 'node:timers/promises'
import type { Child } from '#test/faults/support/child.ts'
import { HookLedger, waitForEvents } from '#test/faults/support/hook.ts'
import { feed, type Stage } from '#test/faults/support/stage.ts'
import { FAULT_TIMES } from '#test/faults/support/worker.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

const BEHAVIOURS = ['ok', 'slow', 'slow', 'flaky']
/** Longer than the lease, so that the other worker takes over. */
const FROZEN_MS = (FAULT_TIMES.webhooks.lease_seconds + 2) * 1_000

/**
 * A worker gets SIGTERM while it calls webhooks: it waits for requests in progress, no event is sent twice, and the next worker
 * continues at once.
 */
async function stopWebhooks(stage: Stage, options: { emails: number; stops: number }): Promise<Report> {
  const { emails, stops } = options
  return withHook(stage, async (hook, report) => {
    const took: number[] = []
    let leased = 0
    for (let stop = 1; stop <= stops; stop++) {
      const worker = await startWorker(stage, hook)
      const feeding = feed(stage, emails / stops, (emails / stops) * (stop - 1))
      await hook.reaches(hook.arrivals.length + Math.ceil((emails / stops) * (0.2 + 2 * Math.random())))
      const start = performance.now()
      worker.kill('SIGTERM')
      const exit = await worker.ended
      took.push(Math.round(performance.now() - start))
      report.expect(exit.code === 0, `stop ${stop} ended with ${JSON.stringify(exit)}: ${worker.lines.slice(-3)}`)
      const { rows } = await stage.pool.pg.query('SELECT count(*)::int FROM webhooks WHERE lease_until > now()')
      leased += rows[0].count
      await feeding
    }
    const last = await startWorker(stage, hook)
    await waitForEvents(stage)
    await last.stop()
    report.note({ emails, stops, stop_ms: took, leased, at_once: hook.most })
    report.expect(leased === 0, 'a stop did not give back every lease')
    report.expect(hook.duplicates() === 0, 'a stop sent events twice')
    report.expect(hook.most <= 2, `${hook.most} requests at once`)
    await hook.check(report, stage, emails)
  })
}

/** One of two workers is frozen beyond its lease, then resumes: its events in progress may be sent twice, and none is lost. */
async function freezeWebhooks(stage: Stage, options: { emails: number; freezes: number }): Promise<Report> {
  const { emails, freezes } = options
  return withHook(stage, async (hook, report) => {
    const workers = [await startWorker(stage, hook), await startWorker(stage, hook)]
    const share = emails / freezes
    for (let freeze = 0; freeze < freezes; freeze++) {
      const worker = workers[freeze % 2] as Child
      const feeding = feed(stage, share, freeze * share)
      await hook.reaches(hook.arrivals.length + Math.ceil(Math.random() * 4 * share))
      worker.kill('SIGSTOP')
      await Promise.all([feeding, sleep(FROZEN_MS)])
      worker.kill('SIGCONT')
      await waitForEvents(stage)
    }
    const exits = await Promise.all(workers.map(worker => worker.stop()))
    report.note({ emails, freezes, at_once: hook.most })
    report.expect(
      exits.every(({ code }) => code === 0),
      `the workers ended with ${JSON.stringify(exits)}`,
    )
    // Two requests per webhook, and those since results were last written (flows/webhooks/read_and_settle.ts).
    const most = freezes * 100 * BEHAVIOURS.length
    report.expect(hook.duplicates() <= most, `${hook.duplicates()} duplicates, more than ${most}`)
    await hook.check(report, stage, emails)
  })
}

async function withHook(stage: Stage, act: (hook: HookLedger, report: Report) => Promise<void>): Promise<Report> {
  const report = new Report()
  const hook = await new HookLedger().listen()
  try {
    await hook.subscribe(stage, BEHAVIOURS)
    await act(hook, report)
    return report
  } finally {
    hook.close()
  }
}

async function startWorker(stage: Stage, hook: HookLedger): Promise<Child> {
  const worker = stage.start('test/faults/support/worker.ts', hook.environment)
  await worker.says(/^ready$/)
  return worker
}

/** node test/faults/stop_webhooks.ts [--emails 1600] [--stops 16] [--freezes 4] */
if (import.meta.main) {
  const { emails, stops, freezes } = readOptions({ emails: 1_600, stops: 16, freezes: 4 })
  await runCampaign('SIGTERM to a worker while it calls webhooks', stage => stopWebhooks(stage, { emails, stops }))
  await runCampaign('SIGSTOP of one of two workers, past its lease, while they call webhooks', stage =>
    freezeWebhooks(stage, { emails, freezes }),
  )
}
