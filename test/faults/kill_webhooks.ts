import { setTimeout as sleep } from 'node:timers/promises'
import { makeAllDue } from '#test/faults/support/deliveries.ts'
import { HookLedger, waitForEvents } from '#test/faults/support/hook.ts'
import type { Postgres } from '#test/faults/support/postgres.ts'
import { feed, type Stage } from '#test/faults/support/stage.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

const BEHAVIOURS = ['ok', 'ok', 'slow', 'flaky']
const AWAY_MS = 500

type Kills = { emails: number; kills: number }

/**
 * A worker is killed again and again while it sends emails and calls webhooks. Each webhook gets every event, a repeated event has
 * the same bytes, and there are at most two concurrent requests to it.
 */
export async function killWebhooks(stage: Stage, { emails, kills }: Kills): Promise<Report> {
  const report = new Report()
  const hook = await new HookLedger().listen()
  try {
    await hook.subscribe(stage, BEHAVIOURS)
    const worker = stage.supervise('test/faults/support/worker.ts', hook.environment)
    const feeding = feed(stage, emails)
    const share = (2 * emails * BEHAVIOURS.length) / (kills + 1)
    for (let kill = 1; kill <= kills; kill++) {
      await hook.reaches(share * kill)
      worker.child.kill('SIGKILL')
      await worker.child.ended
    }
    await feeding
    const took = await settle(stage)
    await worker.stop()
    report.note({ emails, kills, webhooks: BEHAVIOURS.length, settled_after_s: took, at_once: hook.most })
    report.expect(hook.most <= 2, `${hook.most} requests at once`)
    await hook.check(report, stage, emails)
    return report
  } finally {
    hook.close()
  }
}

type Crashes = { emails: number; crashes: number }

/** Postgres crashes while webhooks are called: results are stored once it is back, and counted once. */
async function crashUnderWebhooks(stage: Stage, postgres: Postgres, { emails, crashes }: Crashes): Promise<Report> {
  const report = new Report()
  const hook = await new HookLedger().listen()
  try {
    await hook.subscribe(stage, BEHAVIOURS)
    await feed(stage, emails)
    const worker = stage.supervise('test/faults/support/worker.ts', { ...hook.environment, LOG_LEVEL: 'fatal' })
    const share = (2 * emails * BEHAVIOURS.length) / (crashes + 1)
    for (let crash = 1; crash <= crashes; crash++) {
      await hook.reaches(share * crash)
      await (crash % 2 ? postgres.kill() : postgres.stop('SIGQUIT'))
      await sleep(AWAY_MS)
      await postgres.start()
    }
    const took = await settle(stage)
    const exits = worker.exits.length
    await worker.stop()
    report.note({ emails, crashes, settled_after_s: took, worker_exits: exits })
    await hook.check(report, stage, emails)
    return report
  } finally {
    hook.close()
  }
}

/** Makes emails in doubt due at once. */
async function settle(stage: Stage): Promise<number> {
  const soon = setInterval(() => makeAllDue(stage).catch(() => {}), 1_000)
  return waitForEvents(stage).finally(() => clearInterval(soon))
}

/** node test/faults/kill_webhooks.ts [--emails 3000] [--kills 20] [--crashes 6] */
if (import.meta.main) {
  const { emails, kills, crashes } = readOptions({ emails: 3_000, kills: 20, crashes: 6 })
  await runCampaign('kill -9 of a worker while it calls webhooks', stage => killWebhooks(stage, { emails, kills }))
  await runCampaign('Postgres crashes while webhooks are called', (stage, postgres) =>
    crashUnderWebhooks(stage, postgres, { emails, crashes }),
  )
}
