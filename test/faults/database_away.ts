import { setTimeout as sleep } from 'node:timers/promises'
import { countStates, listBeyondFence, makeAllDue, waitForNone } from '#test/faults/support/deliveries.ts'
import { type PgProxy, startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { feed, type Stage } from '#test/faults/support/stage.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'
import { addJobs, holdTable, waitForLocks } from './locked_jobs.ts'

type Options = { emails: number; pending: number; jobs: number; seconds: number; how: 'blackhole' | 'refuse' }

/**
 * Postgres goes away while results of deliveries are to be written. The worker keeps them, without a busy loop, and writes them
 * when Postgres is back; if it ends, a supervisor restarts it and the sweep takes over.
 */
export async function takeDatabaseAway(stage: Stage, options: Options): Promise<Report> {
  const { emails, pending, jobs, seconds, how } = options
  const report = new Report()
  const sink = await stage.startSink()
  const proxy = await startPgProxy(stage.url)
  const worker = stage.supervise('test/faults/support/worker.ts', { MAIL_TRANSPORT: sink.url, DATABASE_URL: proxy.url })
  try {
    await feed(stage, emails, 0, ['slow250-1000'])
    await waitUntil(async () => (await listBeyondFence(stage)).length >= pending, `${pending} wait for a reply`)
    const at_stake = (await listBeyondFence(stage)).length
    await leave(stage, proxy, how, jobs)
    const { child } = worker
    const cpu = child.cpu()
    await sleep(seconds * 1_000)
    const busy = child.exit ? null : Math.round((100 * (child.cpu() - cpu)) / seconds)
    come(proxy, how)
    const settled = await waitForNone(stage, ['queued', 'sending'], 120_000)
    const { in_doubt = 0 } = await countStates(stage)
    await makeAllDue(stage)
    await waitForNone(stage, ['queued', 'sending', 'in_doubt'])

    const { delivered, ever_in_doubt = 0 } = await countStates(stage)
    const duplicates = sink.ledger.duplicates()
    report.note({
      emails,
      how,
      away_s: seconds,
      at_stake,
      cpu_percent: busy,
      exits: [...worker.exits],
      settled_after_s: settled,
    })
    report.note({ delivered, duplicates, in_doubt_left: in_doubt, ever_in_doubt })
    report.expect(delivered === emails, `${delivered} of ${emails} are delivered`)
    report.expect((busy ?? 0) < 20, 'the worker was in a busy loop')
    report.expect(
      worker.exits.every(({ code }) => code !== 0),
      'a worker that lost its database exited with 0',
    )
    report.expect(ever_in_doubt <= at_stake, 'more deliveries are in doubt than were waiting for a reply')
  } finally {
    await worker.stop()
    await proxy.close()
  }
  await report.consult(stage, { sent: sink.ledger.read() })
  return report
}

/** With this many jobs running, whose completion the queue cannot write. */
async function leave(stage: Stage, proxy: PgProxy, how: Options['how'], jobs: number): Promise<void> {
  const release = jobs > 0 ? await holdTable(stage) : async () => {}
  if (jobs > 0) {
    await addJobs(stage, jobs)
    await waitForLocks(stage)
  }
  if (how === 'blackhole') {
    proxy.blackhole(true)
  } else {
    proxy.refuse(true)
    proxy.cut()
  }
  await release()
}

function come(proxy: PgProxy, how: Options['how']): void {
  if (how === 'blackhole') proxy.blackhole(false)
  else proxy.refuse(false)
}

/** node test/faults/database_away.ts [--emails 400] [--pending 35] [--jobs 100] [--seconds 60] */
if (import.meta.main) {
  const options = readOptions({ emails: 300, pending: 35, seconds: 20, jobs: 100 })
  for (const how of ['blackhole', 'refuse'] as const) {
    for (const jobs of [0, options.jobs]) {
      await runCampaign(`Postgres away (${how}) while results are pending, ${jobs} jobs running`, stage =>
        takeDatabaseAway(stage, { ...options, how, jobs }),
      )
    }
  }
}
