import type { LeaseTimes } from '#lib/async/lease_loop.ts'
import { ATTEMPT_MS } from '#lib/webhooks/post_event.ts'
import { RETRY_SECONDS } from '#lib/webhooks/retry.ts'
import type { RestTimes } from '#sql/webhooks/due_events.ts'

/** Times of delivering webhooks; tests make them shorter. */
export type WebhookTimes = RestTimes &
  LeaseTimes & {
    retry_seconds: readonly number[]
    attempt_ms: number
    lease_seconds: number
    /** Longest time that a webhook keeps its place while others wait for it. */
    turn_ms: number
  }

export const WEBHOOK_TIMES: WebhookTimes = {
  retry_seconds: RETRY_SECONDS,
  attempt_ms: ATTEMPT_MS,
  lease_seconds: 40,
  heartbeat_ms: 10_000,
  poll_ms: 1_000,
  turn_ms: 20_000,
  drain_ms: 20_000,
  first_rest_seconds: 5,
  longest_rest_seconds: 600,
}
