import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from '#test/faults/support/stage.ts'
import { ALLOWED, FORBIDDEN, startForbidden } from '#test/support/http/fetching.ts'
import { announce, insertUnchecked } from '#test/support/webhooks/announced_events.ts'
import { behaviours, startHostileReceiver } from '#test/support/webhooks/hostile_receiver.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { seconds: number; hanging: number }

const MB = 1024 * 1024
const EVERY_MS = 200
const LONGEST_MS = 20_000
const HEALTHY_MS = 2_000
/** Growth that garbage collection needs under such a load. */
const MOST_GROWTH = 20 * MB

/**
 * One webhook works and all others are as hostile as possible, with production timing. The healthy one is not delayed, no
 * attempt exceeds its limit, no redirect is followed, and the worker does not grow.
 */
async function hostileWebhooks(stage: Stage, { seconds, hanging }: Options): Promise<Report> {
  const report = new Report()
  const ends: (() => unknown)[] = []
  const t = { teardown: (end: () => unknown) => ends.push(end) }
  const receiver = await startHostileReceiver(t as never)
  const forbidden = await startForbidden(t as never)
  const environment = {
    ...{ MAIL_TRANSPORT: 'capture', LOG_LEVEL: 'error', FETCH_ALLOW: ALLOWED },
    FETCH_PORTS: `${receiver.port},${forbidden.port}`,
    NODE_OPTIONS: '--max-semi-space-size=1', // otherwise young garbage takes up a hundred megabytes
  }
  const subscribe = (endpoint: string) => insertUnchecked(stage, stage.account.id, endpoint)
  try {
    const healthy = await subscribe(`http://${ALLOWED}:${receiver.port}/is_well`)
    const worker = stage.start('test/faults/support/worker.ts', environment)
    await worker.says(/^ready$/)
    await tell(stage, 5)
    const idle = worker.memory('VmHWM')

    const others = Object.keys(behaviours).filter(name => name !== 'is_well')
    const names = [...others, ...Array(hanging).fill('hangs')]
    for (const name of names) await subscribe(`http://${ALLOWED}:${receiver.port}/${name}`)
    await subscribe(`http://${FORBIDDEN}:${forbidden.port}/`)
    await tell(stage, seconds / 2)
    const warm = worker.memory('VmHWM')
    await tell(stage, seconds / 2)
    await sleep(LONGEST_MS)
    const growth = worker.memory('VmHWM') - warm
    const { code } = await worker.stop()

    const { rows } = await stage.pool.pg.query(
      `SELECT max(a.ms) AS longest, count(*)::int AS attempts,
         count(*) FILTER (WHERE a.webhook_id = $1)::int AS arrived,
         percentile_cont(ARRAY[0.5, 0.95, 1]) WITHIN GROUP
           (ORDER BY 1000 * extract(epoch FROM a.created_at - e.created_at)::float + a.ms) FILTER (WHERE a.webhook_id = $1) AS took
       FROM webhook_attempts a JOIN webhook_events e ON e.account_id = a.account_id AND e.id = a.event_id`,
      [healthy],
    )
    const { longest, attempts, arrived, took } = rows[0]
    report.note({ webhooks: names.length + 2, attempts, arrived_at_the_healthy: arrived, forbidden: forbidden.heard() })
    report.note({ healthy_p50_p95_max_ms: took.map(Math.round), longest_attempt_ms: longest })
    report.note({ peak_mb: [idle, warm, warm + growth].map(bytes => Math.round(bytes / MB)) })
    report.expect(took[1] < HEALTHY_MS, 'the healthy webhook was delayed')
    report.expect(longest < LONGEST_MS, 'an attempt exceeded its limit')
    report.expect(forbidden.heard() === 0, 'forbidden hosts were connected to')
    report.expect(growth < MOST_GROWTH, `the worker grew by ${Math.round(growth / MB)} MB`)
    report.expect(code === 0, `the worker ended with ${code}`)
    return report
  } finally {
    for (const end of ends) end()
  }
}

async function tell(stage: Stage, seconds: number): Promise<void> {
  for (let n = 0; n < (seconds * 1_000) / EVERY_MS; n++) {
    await announce(stage, stage.account.id, 1)
    await sleep(EVERY_MS)
  }
}

/** node test/faults/hostile_webhooks.ts [--seconds 60] [--hanging 20] */
if (import.meta.main) {
  const options = readOptions({ seconds: 60, hanging: 20 })
  await runCampaign('hostile webhook receivers beside a healthy one', stage => hostileWebhooks(stage, options))
}
