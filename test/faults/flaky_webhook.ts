import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { WEBHOOK_TIMES } from '#flows/webhooks/times.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { ALLOWED } from '#test/support/http/fetching.ts'
import { announce, insertUnchecked } from '#test/support/webhooks/announced_events.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { per_second: number; seconds: number }

const ANSWER_MS = 1
const EVERY_MS = 100
const FIRST_RETRY_S = WEBHOOK_TIMES.retry_seconds[0] as number

/** An endpoint fails every third time at random, with production timing: it still keeps up with its events. */
async function failOneInThree(stage: Stage, { per_second, seconds }: Options): Promise<Report> {
  const report = new Report()
  const attempts = { taken: 0, failed: 0 }
  const server = createServer(async (request, response) => {
    await buffer(request)
    const fails = Math.random() < 1 / 3
    attempts[fails ? 'failed' : 'taken']++
    await sleep(ANSWER_MS)
    response.writeHead(fails ? 500 : 200).end()
  })
  await once(server.listen(0, ALLOWED), 'listening')
  const { port } = server.address() as AddressInfo
  try {
    await insertUnchecked(stage, stage.account.id, `http://${ALLOWED}:${port}/flaky`)
    stage.start('workers/worker.ts', {
      ...{ FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(port) },
      ...{ MAIL_TRANSPORT: 'capture', LOG_LEVEL: 'error' },
    })
    const overdue: number[] = []
    const start = performance.now()
    let told = 0
    let looked_at = start
    while (performance.now() < start + seconds * 1_000) {
      const due = Math.floor(((performance.now() - start) / 1_000) * per_second)
      await announce(stage, stage.account.id, due - told)
      told = due
      if (performance.now() > looked_at + 1_000) {
        looked_at = performance.now()
        overdue.push(await findOverdue(stage))
      }
      await sleep(EVERY_MS)
    }
    const { rows } = await stage.pool.pg.query(
      `SELECT failure_count, status, count(d.*) FILTER (WHERE d.state = 'success')::int AS delivered,
         count(d.*) FILTER (WHERE d.state = 'pending')::int AS waits FROM webhooks w
       JOIN webhook_deliveries d ON d.account_id = w.account_id AND d.webhook_id = w.id GROUP BY 1, 2`,
    )
    report.note({ events: told, ...attempts, ...rows[0] })
    report.note({ most_overdue_s: Math.max(...overdue), overdue_at_the_end_s: overdue.at(-1) })
    report.expect(Math.max(...overdue) < FIRST_RETRY_S, `events were overdue for more than ${FIRST_RETRY_S} s`)
    report.expect(rows[0].status === 'enabled', 'the webhook was disabled')
  } finally {
    server.closeAllConnections()
    server.close()
  }
  return report
}

/** Seconds by which the oldest waiting event is overdue. */
async function findOverdue({ pool }: Stage): Promise<number> {
  const { rows } = await pool.pg.query(
    `SELECT coalesce(extract(epoch FROM now() - min(next_at)), 0)::float AS seconds
     FROM webhook_deliveries WHERE state = 'pending' AND next_at < now()`,
  )
  return Number(rows[0].seconds.toFixed(2))
}

/** node test/faults/flaky_webhook.ts [--per_second 50] [--seconds 90] */
if (import.meta.main) {
  const options = readOptions({ per_second: 50, seconds: 90 })
  await runCampaign('an endpoint that fails one time in three', stage => failOneInThree(stage, options))
}
