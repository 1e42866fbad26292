import { LeaseLoop } from '#lib/async/lease_loop.ts'
import type { Config } from '#lib/config.ts'
import { newId } from '#lib/ids.ts'
import type { Log } from '#lib/log.ts'
import { Connections } from '#lib/net/fetch/connections.ts'
import { fetchPolicy } from '#lib/net/fetch_safely.ts'
import type { Secrets } from '#lib/secrets.ts'
import { type Attempt, postEvent } from '#lib/webhooks/post_event.ts'
import type { Pool } from '#sql/pool.ts'
import type { DueEvent, WebhookId } from '#sql/webhooks/due_events.ts'
import { type ClaimedWebhook, claimWebhooks, extendWebhookLeases } from '#sql/webhooks/leases.ts'
import { EndpointQueue } from './endpoint_queue.ts'
import { LeasedEndpoints, type Places } from './leased_endpoints.ts'
import { WebhookStore } from './read_and_settle.ts'
import { createSigners } from './signing_secrets.ts'
import { WEBHOOK_TIMES, type WebhookTimes } from './times.ts'

/**
 * Failing endpoints have separate places, so that others keep theirs; an endpoint that hangs counts as failing after
 * its first attempt.
 */
const PLACES: Places = { sound: 256, failing: 128, silent: 1024, silent_ms: 250 }

/** Interval between checks for room while there is none: places become free, and endpoints turn out to be silent. */
const CROWDED_MS = 250

type Dependencies = { pool: Pool; log: Log; config: Config; secrets: Secrets; times?: WebhookTimes; places?: Places }

/**
 * Delivers events to webhooks: leases webhooks with due events, and writes the result of each attempt. Events that a
 * worker held when it died are sent again once its leases have expired. A job only announces new events.
 */
export class WebhookSender extends LeaseLoop<WebhookId> {
  readonly #pool: Pool
  readonly #log: Log
  readonly #times: WebhookTimes
  readonly #places: Places
  readonly #lease: { owner: string; seconds: number }
  readonly #store: WebhookStore
  readonly #connections: Connections
  readonly #signerOf: ReturnType<typeof createSigners>
  readonly #endpoints: LeasedEndpoints
  #hasGivenUp = false

  constructor({ pool, log, config, secrets, times = WEBHOOK_TIMES, places = PLACES }: Dependencies) {
    super(log, 'webhooks', times)
    this.#pool = pool
    this.#log = log
    this.#times = times
    this.#places = places
    this.#lease = { owner: newId(), seconds: times.lease_seconds }
    this.#store = new WebhookStore(pool, log, { owner: this.#lease.owner, times, stopping: this.stopping })
    this.#connections = new Connections(fetchPolicy(config))
    this.#signerOf = createSigners(secrets)
    this.#endpoints = new LeasedEndpoints({
      open: webhook => this.#open(webhook),
      onEnd: (webhook, error) => this.#release(webhook, error),
    })
  }

  override idle(): Promise<void> {
    return this.#endpoints.idle()
  }

  protected override async claim(ids: WebhookId[] | null): Promise<void> {
    const room = this.#endpoints.roomIn(this.#places)
    this.#endpoints.endTurns(room, this.#times.turn_ms)
    if (room.sound === 0) this.lookIn(CROWDED_MS)
    if (room.sound + room.failing === 0) return
    const claimed = await claimWebhooks(this.#pool, this.#lease, room, ids)
    for (const webhook of claimed) this.#endpoints.take(webhook)
    if (room.sound > 0 && claimed.length >= room.sound) this.lookIn(CROWDED_MS)
  }

  /** Extends only leases of endpoints held here: the lease of one that failed must expire. */
  protected override async extendLeases(): Promise<void> {
    if (this.#endpoints.size > 0) await extendWebhookLeases(this.#pool, this.#lease, this.#endpoints.webhooks())
  }

  protected override giveBack(): void {
    this.#endpoints.stop()
  }

  /** Endpoints that have not responded yet get their events again. */
  protected override giveUp(): void {
    this.#hasGivenUp = true
    this.#store.giveUp()
    this.#connections.close()
  }

  #open(webhook: ClaimedWebhook): EndpointQueue {
    const { account_id, id: webhook_id } = webhook
    return new EndpointQueue(webhook, {
      read: (held, limit) => this.#store.read({ account_id, webhook_id, held, limit }),
      post: event => this.#post(event),
      mayFail: () => this.#endpoints.mayFail(this.#places),
      settle: (event, attempt) => this.#store.settle(event, attempt),
    })
  }

  async #post({ account_id, webhook_id, signing_secret, event_id, endpoint, body }: DueEvent): Promise<Attempt> {
    const sign = this.#signerOf({ account_id, id: webhook_id, signing_secret })
    const event = { id: event_id, endpoint, body, sign }
    const attempt = await postEvent(this.#connections, event, this.#times.attempt_ms)
    const { detail } = attempt
    if (detail !== null) this.#log.info({ webhook_id, event_id, detail }, 'an endpoint did not respond')
    return attempt
  }

  async #release({ account_id, id }: ClaimedWebhook, error: unknown): Promise<void> {
    try {
      if (error !== null && !this.#hasGivenUp) throw error
      await this.#store.release({ account_id, id })
    } catch (err) {
      // The lease expires by itself, and so delays the next attempt.
      this.#log.error({ err, webhook_id: id }, 'sending to a webhook failed')
    }
  }
}
