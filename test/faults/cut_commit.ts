import { setTimeout as sleep } from 'node:timers/promises'
import { checkKeys, Load } from '#test/faults/support/load.ts'
import { startPgProxy } from '#test/faults/support/pg_proxy.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { runs: number; at_once: number }

const AWAY_MS = 300

/**
 * The connection is cut after Postgres has committed and before it has replied. Nothing is inserted twice: the caller gets the
 * id that was stored, or a 503 after which a retry with the same key returns it. In every other run Postgres stays unreachable
 * for a moment, so that it cannot be asked what was stored.
 */
export async function cutCommits(stage: Stage, { runs, at_once }: Options): Promise<Report> {
  const report = new Report()
  const proxy = await startPgProxy(stage.url)
  const web = await stage.startWeb({ DATABASE_URL: proxy.url, LOG_LEVEL: 'info' })
  const load = new Load(stage)
  const first: Record<string, number> = {}
  await load.send([web.url], -1) // warms up all processes and connections
  for (let run = 0; run < runs; run++) {
    const cut = proxy.cutReply('accept_emails').then(async () => {
      if (run % 2 === 0) return
      proxy.refuse(true)
      await sleep(AWAY_MS)
      proxy.refuse(false)
    })
    const numbers = Array.from({ length: at_once }, (_, n) => run * at_once + n)
    const all = await Promise.all([cut, ...numbers.map(n => load.send([web.url], n))])
    for (const answers of all.slice(1) as Awaited<ReturnType<Load['send']>>[]) {
      const statuses = answers.map(answer => answer.status)
      first[statuses[0] as number] = (first[statuses[0] as number] ?? 0) + 1
      const areRetryable = statuses.slice(0, -1).every(status => status === 503)
      report.expect(areRetryable, `run ${run} got the responses ${statuses}`)
    }
  }
  await load.stop()
  await web.child.stop()
  await proxy.close()
  report.note({ runs, requests: runs * at_once, first_answers: first, keys: load.ids.size })
  for (const fault of await checkKeys(stage, load)) report.expect(false, fault)
  await report.consult(stage, { answered: [...load.ids.values()].flatMap(ids => [...ids]) })
  return report
}

/** node test/faults/cut_commit.ts [--runs 100] [--at_once 5] */
if (import.meta.main) {
  const options = readOptions({ runs: 100, at_once: 5 })
  await runCampaign('the connection is cut after the commit, before its reply', stage => cutCommits(stage, options))
}
