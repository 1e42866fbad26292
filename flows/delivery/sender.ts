import type { Blobs } from '#flows/files/blobs.ts'
import { coalesce } from '#lib/async/coalesce.ts'
import { waitAtMost } from '#lib/async/wait_at_most.ts'
import type { Config } from '#lib/config.ts'
import type { Transport } from '#lib/delivery/transport.ts'
import { newId } from '#lib/ids.ts'
import type { Log } from '#lib/log.ts'
import type { Secrets } from '#lib/secrets.ts'
import { claimDeliveries, extendLeases } from '#sql/delivery/deliveries.ts'
import type { Pool } from '#sql/pool.ts'
import { createLedger } from './fence_and_settle.ts'
import { createFetchFiles } from './fetch_attachments.ts'
import { CAPACITY, Pipeline } from './pipeline.ts'
import { createPrepareMessage } from './prepare_message.ts'

/** Times of the delivery protocol; tests make them shorter. */
export type SenderTimes = {
  lease_seconds: number
  heartbeat_ms: number
  /** How often due mail is looked for: the most that a scheduled or deferred email is late. */
  poll_ms: number
  /** How long a stop waits for replies to a final dot. */
  drain_ms: number
  /** How long the keys of a domain are remembered: the most that a new one is late. */
  keys_ms: number
}

export const SENDER_TIMES: SenderTimes = {
  lease_seconds: 40,
  heartbeat_ms: 10_000,
  poll_ms: 500,
  drain_ms: 120_000,
  keys_ms: 60_000,
}

/** Of one claim; a destination with so many gets no more, so that one that is slow never holds a quarter of all. */
const CLAIM = 125

/**
 * Sends what is due: claims deliveries, holds them in memory by destination, writes what became of each, and keeps
 * their leases alive by a heartbeat of its own. A job only tells it of new mail.
 */
export type Sender = {
  /** Claims these emails' deliveries as far as there is room; the rest is claimed as room is made. Never waits for SMTP. */
  offer(email_ids: string[]): Promise<void>
  /** Starts looking for due mail by itself. */
  start(): void
  /** Resolves once nothing is held. */
  idle(): Promise<void>
  /** Stops claiming, gives back what has not reached its final dot, waits for what has. */
  stop(): Promise<void>
}

type Dependencies = {
  pool: Pool
  log: Log
  config: Config
  secrets: Secrets
  transport: Transport
  blobs: Blobs
  times?: SenderTimes
  /** Bytes that large messages may take together. */
  room?: number
}

export function createSender(deps: Dependencies): Sender {
  const { pool, log, transport, blobs, times = SENDER_TIMES } = deps
  const { lease_seconds } = times
  const ledger = createLedger(pool, log, { lease_seconds })
  const stopping = new AbortController()
  const fetchFiles = createFetchFiles({ ...deps, signal: stopping.signal })
  const prepareMessage = createPrepareMessage({ ...deps, fetchFiles, readBlob: blobs.read, keys_ms: times.keys_ms })
  const pipeline = new Pipeline({ ...deps, ledger, prepareMessage, onRoom })
  const timers: NodeJS.Timeout[] = []
  let isStopping = false
  /** There may be due mail that was left for lack of room; it is claimed once no more than so many are held. */
  let more = false
  let refill_at = 0

  /** A wish of null is for whatever is due. */
  const claim = coalesce<string[] | null, void>(
    async wishes => {
      const answers = wishes.map(() => undefined)
      const limit = Math.min(CLAIM, CAPACITY - pipeline.load)
      if (limit <= 0 || isStopping) {
        more = true
        return answers
      }
      const email_ids = wishes.includes(null) ? undefined : wishes.flatMap(ids => ids ?? [])
      const busy_destinations = pipeline.busy(CLAIM)
      const lease = { lease_owner: newId(), lease_seconds }
      const claimed = await claimDeliveries(pool, { ...lease, limit, email_ids, busy_destinations })
      for (const delivery of claimed) pipeline.take(delivery)
      more = claimed.length === limit || busy_destinations.length > 0 || (more && email_ids !== undefined)
      refill_at = Math.floor(pipeline.load / 2)
      return answers
    },
    { in_flight: 1, max_items: CAPACITY },
  )

  function claimDue(): void {
    claim(null).catch(error => log.error({ err: error }, 'due mail could not be claimed'))
  }

  function onRoom(): void {
    if (!more || isStopping || pipeline.load > refill_at) return
    more = false
    claimDue()
  }

  function beat(): void {
    const tokens = [...pipeline.held]
    if (tokens.length === 0) return
    extendLeases(pool, tokens, lease_seconds).catch(error => log.error({ err: error }, 'leases could not be extended'))
  }

  return {
    offer: claim,
    start() {
      timers.push(setInterval(claimDue, times.poll_ms), setInterval(beat, times.heartbeat_ms))
    },
    idle: () => pipeline.idle(),
    async stop() {
      isStopping = true
      // Queues up behind a claim that is under way, so that what it brings is given back too.
      await claim([]).catch(error => log.error({ err: error }, 'a claim failed during the stop'))
      pipeline.stop()
      stopping.abort()
      await waitAtMost(times.drain_ms, pipeline.idle())
      // Whoever still waits for a reply is in doubt, and everything is written once more.
      transport.close()
      ledger.giveUp()
      await pipeline.idle()
      for (const timer of timers) clearInterval(timer)
    },
  }
}
