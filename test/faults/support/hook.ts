import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Report } from '#test/faults/campaign.ts'
import { ALLOWED } from '#test/support/http/fetching.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { addWebhook } from '#test/support/webhooks/add_webhook.ts'
import type { Stage } from './stage.ts'

/** A received event, stored before the response. */
type Arrival = { webhook: string; event: string; sha256: string; status: number }

const SLOW_MS = 30

/**
 * A receiver of webhooks that behaves as the beginning of the path says: `ok`, `slow` (30 ms) or `flaky` (500 for the first
 * attempt at every third event).
 */
export class HookLedger {
  readonly arrivals: Arrival[] = []
  /** The maximum number of concurrent requests to one webhook. */
  most = 0
  readonly #open = new Map<string, number>()
  readonly #seen = new Set<string>()
  readonly #server = createServer(async (request, response) => {
    const webhook = (request.url ?? '').slice(1)
    this.#count(webhook, 1)
    response.once('close', () => this.#count(webhook, -1))
    const body = await buffer(request).catch(() => null)
    if (!body) return // the sender was killed
    const { id } = JSON.parse(body.toString())
    const status = this.#judge(webhook, id)
    this.arrivals.push({ webhook, event: id, sha256: createHash('sha256').update(body).digest('hex'), status })
    if (webhook.startsWith('slow')) await sleep(SLOW_MS)
    response.writeHead(status).end()
  })

  async listen(): Promise<this> {
    await once(this.#server.listen(0, ALLOWED), 'listening')
    return this
  }

  /** The environment of a worker that delivers here. */
  get environment(): Record<string, string> {
    return { FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(this.#port), MAIL_TRANSPORT: 'capture', LOG_LEVEL: 'error' }
  }

  /** A webhook of the stage's account for each behaviour. */
  async subscribe(stage: Stage, behaviours: string[]): Promise<void> {
    for (const [n, behaviour] of behaviours.entries()) {
      const endpoint = `http://${ALLOWED}:${this.#port}/${behaviour}-${n}`
      await addWebhook(stage, stage.account.id, { endpoint, events: ['*'] })
    }
  }

  async reaches(count: number): Promise<void> {
    await waitUntil(
      () => this.arrivals.length >= count,
      () => `${this.arrivals.length} of ${count} events have arrived`,
    )
  }

  /** The number of events that a webhook has accepted more than once. */
  duplicates(): number {
    const taken = this.arrivals.filter(({ status }) => status === 200)
    return taken.length - new Set(taken.map(({ webhook, event }) => `${webhook} ${event}`)).size
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** Checks that every event of every email has arrived at every webhook, with the same bytes each time, and is stored as sent. */
  async check(report: Report, stage: Stage, emails: number): Promise<void> {
    const { rows } = await stage.pool.pg.query<{ key: string; sha256: string; state: string }>(
      `SELECT substring(w.endpoint FROM '[^/]*$') || ' ' || e.id AS key, encode(sha256(e.body), 'hex') AS sha256, d.state
       FROM webhook_deliveries d JOIN webhook_events e ON e.account_id = d.account_id AND e.id = d.event_id
       JOIN webhooks w ON w.account_id = d.account_id AND w.id = d.webhook_id`,
    )
    const bodies = new Map(rows.map(({ key, sha256 }) => [key, sha256]))
    const taken = new Set<string>()
    let others = 0
    for (const { webhook, event, sha256, status } of this.arrivals) {
      if (status === 200) taken.add(`${webhook} ${event}`)
      if (bodies.get(`${webhook} ${event}`) !== sha256) others++
    }
    const webhooks = await stage.pool.pg.query('SELECT failure_count, status, lease_owner FROM webhooks')
    const events = 2 * emails * webhooks.rows.length
    report.note({ events, arrivals: this.arrivals.length, duplicates: this.duplicates() })
    report.expect(rows.length === events, `${rows.length} of ${events} events are written`)
    report.expect(taken.size === events, `${taken.size} of ${events} have arrived`)
    report.expect(others === 0, `${others} arrived with other bytes`)
    report.expect(
      rows.every(({ state }) => state === 'success'),
      'not every event is stored as sent',
    )
    const isWell = webhooks.rows.every(row => row.failure_count === 0 && row.status === 'enabled')
    report.expect(isWell, `webhooks failed or were disabled: ${JSON.stringify(webhooks.rows)}`)
    await report.consult(stage)
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  #count(webhook: string, change: number): void {
    const open = (this.#open.get(webhook) ?? 0) + change
    this.#open.set(webhook, open)
    this.most = Math.max(this.most, open)
  }

  #judge(webhook: string, event: string): number {
    const key = `${webhook} ${event}`
    const isFirst = !this.#seen.has(key)
    this.#seen.add(key)
    return webhook.startsWith('flaky') && isFirst && this.#seen.size % 3 === 0 ? 500 : 200
  }
}

/** Resolves when no event is waiting; returns the seconds it took. */
export async function waitForEvents(stage: Stage): Promise<number> {
  const start = performance.now()
  const count = async (): Promise<{ events: number; emails: number }> => {
    const { rows } = await stage.pool.pg.query(
      `SELECT (SELECT count(*) FROM webhook_deliveries WHERE state = 'pending')::int AS events,
         (SELECT count(*) FROM deliveries WHERE state IN ('queued', 'sending', 'in_doubt'))::int AS emails`,
    )
    return rows[0]
  }
  const isDone = async () => {
    const { events, emails } = await count()
    return events + emails === 0
  }
  await waitUntil(isDone, async () => `every event is delivered; ${JSON.stringify(await count())} are left`, 120_000)
  return Number(((performance.now() - start) / 1_000).toFixed(1))
}
