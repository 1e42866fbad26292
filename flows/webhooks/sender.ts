import { coalesce } from '#lib/async/coalesce.ts'
import { waitAtMost } from '#lib/async/wait_at_most.ts'
import type { Config } from '#lib/config.ts'
import { newId } from '#lib/ids.ts'
import type { Log } from '#lib/log.ts'
import { Connections } from '#lib/net/fetch/connections.ts'
import { fetchPolicy } from '#lib/net/fetch_safely.ts'
import type { Secrets } from '#lib/secrets.ts'
import { postEvent } from '#lib/webhooks/post_event.ts'
import type { Pool } from '#sql/pool.ts'
import type { DueEvent, WebhookId } from '#sql/webhooks/due_events.ts'
import { claimWebhooks, extendWebhookLeases } from '#sql/webhooks/leases.ts'
import { type LaneDeps, WebhookLane } from './endpoint_queue.ts'
import { type Places, WebhookLanes } from './leased_endpoints.ts'
import { createWebhookLedger } from './read_and_settle.ts'
import { createSigners } from './signing_secrets.ts'
import { WEBHOOK_TIMES, type WebhookTimes } from './times.ts'

/** Those that fail, as all that hang do after their first attempt, leave room for those that do not. */
const PLACES: Places = { sound: 256, failing: 128, silent: 1024, silent_ms: 250 }

/** While there is no room, it is looked for again so soon: places become free, and endpoints turn out to be silent. */
const CROWDED_MS = 250

/**
 * Delivers events to webhooks: leases those that have due ones, one worker for each, and writes what became of each
 * attempt. What a worker had in hand when it died is sent again, once its lease has run out. A job only tells it of new
 * events.
 */
export type WebhookSender = {
  /** Looks at these webhooks now. Never waits for their endpoints. */
  offer(webhooks: WebhookId[]): Promise<void>
  /** Starts looking for due events by itself. */
  start(): void
  /** Resolves once no webhook is being delivered to. */
  idle(): Promise<void>
  /** Stops taking events, and waits for the answers to those on their way. */
  stop(): Promise<void>
}

type Dependencies = { pool: Pool; log: Log; config: Config; secrets: Secrets; times?: WebhookTimes; places?: Places }

export function createWebhookSender({
  pool,
  log,
  config,
  secrets,
  times = WEBHOOK_TIMES,
  places = PLACES,
}: Dependencies): WebhookSender {
  const owner = newId()
  const stopping = new AbortController()
  const ledger = createWebhookLedger(pool, log, { owner, times, stopping: stopping.signal })
  const connections = new Connections(fetchPolicy(config))
  const signerOf = createSigners(secrets)
  const aborted = new AbortController()
  const timers: NodeJS.Timeout[] = []

  const post = async ({ account_id, webhook_id, signing_secret, event_id, endpoint, body }: DueEvent) => {
    const sign = signerOf({ account_id, id: webhook_id, signing_secret })
    const attempt = await postEvent(connections, { id: event_id, endpoint, body, sign }, times.attempt_ms)
    const { detail } = attempt
    if (detail !== null) log.info({ webhook_id, event_id, detail }, 'an endpoint did not answer')
    return attempt
  }

  const lanes = new WebhookLanes({
    open(webhook) {
      const { account_id, id: webhook_id } = webhook
      const read: LaneDeps['read'] = (held, limit) => ledger.read({ account_id, webhook_id, held, limit })
      const mayFail = () => lanes.mayFail(places)
      return new WebhookLane(webhook, { read, post, mayFail, settle: ledger.settle })
    },
    async onEnd({ account_id, id }, error) {
      try {
        if (error !== null && !aborted.signal.aborted) throw error
        await ledger.release({ account_id, id })
      } catch (err) {
        // Its lease runs out by itself: that is the pause after which it is tried again.
        log.error({ err, webhook_id: id }, 'a webhook could not be delivered to')
      }
    },
  })

  /** A wish of null is for whatever is due. */
  const claim = coalesce<WebhookId[] | null, void>(
    async wishes => {
      const answers = wishes.map(() => undefined)
      const room = lanes.roomIn(places)
      lanes.endTurns(room, times.turn_ms)
      if (room.sound === 0) lookSoon()
      if (room.sound + room.failing === 0 || stopping.signal.aborted) return answers
      const ids = wishes.includes(null) ? null : wishes.flatMap(webhooks => webhooks ?? [])
      const claimed = await claimWebhooks(pool, { owner, seconds: times.lease_seconds }, room, ids)
      for (const webhook of claimed) lanes.take(webhook)
      if (room.sound > 0 && claimed.length >= room.sound) lookSoon()
      return answers
    },
    { in_flight: 1, max_items: 1_000 },
  )

  let isSoon = false
  function lookSoon(): void {
    if (isSoon || timers.length === 0) return
    isSoon = true
    setTimeout(() => {
      isSoon = false
      if (!stopping.signal.aborted) look()
    }, CROWDED_MS).unref()
  }

  function look(): void {
    claim(null).catch(error => log.error({ err: error }, 'due webhooks could not be claimed'))
  }

  function beat(): void {
    if (lanes.size === 0) return
    // Only of those in hand: a lane that failed has left a lease that is to run out.
    extendWebhookLeases(pool, { owner, seconds: times.lease_seconds }, lanes.webhooks()).catch(error =>
      log.error({ err: error }, 'leases of webhooks could not be extended'),
    )
  }

  return {
    offer: claim,
    start() {
      timers.push(setInterval(look, times.poll_ms), setInterval(beat, times.heartbeat_ms))
    },
    idle: () => lanes.idle(),
    async stop() {
      stopping.abort()
      // Queues up behind a claim that is under way, so that what it brings is stopped too.
      await claim([]).catch(error => log.error({ err: error }, 'a claim failed during the stop'))
      lanes.stop()
      await waitAtMost(times.drain_ms, lanes.idle())
      // Whoever has not answered yet gets its event again.
      aborted.abort()
      ledger.giveUp()
      connections.close()
      await lanes.idle()
      for (const timer of timers) clearInterval(timer)
    },
  }
}
