import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from '#test/faults/support/stage.ts'
import { ALLOWED } from '#test/support/http/fetching.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { announce, insertUnchecked } from '#test/support/webhooks/announced_events.ts'
import { newAccount } from '#test/support/world.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { endpoints: number; others: number; seconds: number }

const EVERY_MS = 200
/** Milliseconds within which the other webhooks must get an event, from the moment when the endpoints begin to hang. */
const LATEST_MS = 1_500

/**
 * Many endpoints accept events and then all begin to hang at once, with production timing. The webhooks of other accounts still
 * get their events within about a second.
 */
async function hangWebhooks(stage: Stage, { endpoints, others, seconds }: Options): Promise<Report> {
  const report = new Report()
  const receiver = await new Receiver().listen()
  const other = await newAccount(stage)
  const subscribe = async (account_id: string, name: string, count: number) => {
    for (let n = 0; n < count; n++) await insertUnchecked(stage, account_id, `${receiver.url}/${name}-${n}`)
  }
  try {
    await subscribe(stage.account.id, 'hangs', endpoints)
    await subscribe(other.id, 'well', others)
    const worker = stage.start('workers/worker.ts', { ...receiver.environment, LOG_LEVEL: 'error' })
    const tell = async (ms: number) => {
      for (let n = 0; n < ms / EVERY_MS; n++) {
        const at = performance.now()
        if (n % 5 === 0) await announce(stage, stage.account.id, 1, { at })
        await announce(stage, other.id, 1, { at })
        await sleep(EVERY_MS)
      }
    }
    await announce(stage, stage.account.id, 1)
    await receiver.hears(endpoints)
    await tell(5_000)
    report.note({ all_well_p50_p95_max_ms: receiver.takeLateness() })
    receiver.isHanging = true
    await tell(5_000)
    const first = receiver.takeLateness()
    await tell((seconds - 5) * 1_000)
    const later = receiver.takeLateness()
    report.note({ first_5_s_of_hanging: first, later, hang_at_the_same_time: receiver.most })
    report.expect(Math.max(first[2], later[2]) < LATEST_MS, `others waited more than ${LATEST_MS} ms for an event`)
    report.note({ worker_mb: Math.round(worker.memory('VmHWM') / (1 << 20)) })
    const { code } = await worker.stop()
    report.expect(code === 0, `the worker ended with ${code}`)
    const { rows } = await stage.pool.pg.query(
      `SELECT count(*) FILTER (WHERE state = 'pending')::int AS pending FROM webhook_deliveries WHERE account_id = $1`,
      [other.id],
    )
    report.expect(rows[0].pending === 0, `${rows[0].pending} events of the others are still waiting`)
  } finally {
    receiver.close()
  }
  return report
}

class Receiver {
  isHanging = false
  /** The maximum number of requests that hung at the same time. */
  most = 0
  #hanging = 0
  #heard = 0
  readonly #lateness: number[] = []
  readonly #server = createServer(async (request, response) => {
    const { data } = JSON.parse((await buffer(request)).toString())
    this.#heard++
    if (request.url?.startsWith('/hangs') && this.isHanging) {
      this.most = Math.max(this.most, ++this.#hanging)
      response.once('close', () => this.#hanging--)
      return
    }
    if (request.url?.startsWith('/well')) this.#lateness.push(performance.now() - data.at)
    response.end()
  })

  async listen(): Promise<this> {
    await once(this.#server.listen(0, ALLOWED), 'listening')
    return this
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://${ALLOWED}:${this.#port}`
  }

  get environment(): Record<string, string> {
    return { FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(this.#port), MAIL_TRANSPORT: 'capture' }
  }

  async hears(count: number): Promise<void> {
    await waitUntil(
      () => this.#heard >= count,
      () => `${this.#heard} of ${count} events have arrived`,
    )
  }

  /** Milliseconds since the last call: median, 95th percentile and maximum. */
  takeLateness(): [number, number, number] {
    const sorted = this.#lateness.splice(0).sort((a, b) => a - b)
    const at = (part: number) => Math.round(sorted[Math.ceil(part * sorted.length) - 1] ?? Number.NaN)
    return [at(0.5), at(0.95), at(1)]
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

/** node test/faults/hanging_webhooks.ts [--endpoints 512] [--others 8] [--seconds 60] */
if (import.meta.main) {
  const options = readOptions({ endpoints: 512, others: 8, seconds: 60 })
  await runCampaign('endpoints that begin to hang at the same moment', stage => hangWebhooks(stage, options))
}
