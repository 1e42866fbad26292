import type { Share } from '#lib/async/fair_queue.ts'
import type { Bounce } from './bounce_details.ts'
import type { ReplyClass } from './smtp_reply.ts'

/** How mail of a domain is to leave. With `tls` enforced it must not travel in the clear; `transport` null is as configured. */
export type Wishes = { tls: 'opportunistic' | 'enforced'; transport: 'capture' | 'relay' | 'direct' | null }

/** A finished message. Its bytes are held here alone, so that `letGo` frees them while others still wait for the reply. */
export type Message = { bytes: Buffer }

/** One message for one recipient, ready for the wire. */
export type Outgoing = Wishes & {
  account_id: string
  delivery_id: string
  mail_from: string
  recipient: string
  message: Message
  /** Awaited before the final dot is written; false means that it must not be. */
  fence: () => Promise<boolean>
  /**
   * Called when no reply to the final dot has come for a while. True: the delivery was set aside, so it goes on waiting and
   * holds no place any more. False: there is no room for it among those set aside; it is called again after as long.
   */
  onSilence?: (() => boolean) | undefined
  /** Aborted when the process wants to stop: whoever has not passed the fence gives up at once. */
  signal: AbortSignal
}

const NO_BYTES = Buffer.alloc(0)

/** Frees the bytes of a message that has been sent to its end. */
export function letGo(message: Message): void {
  message.bytes = NO_BYTES
}

/** The server, or the way to it, did not take the message. */
export type Refused = {
  outcome: 'deferred' | 'bounced' | 'failed'
  reason: string
  reply?: string
  class?: ReplyClass['class']
  bounce?: Bounce
  /** Seconds: when the server wants to see it again. */
  retry_after?: number
  /** Nothing was said of the message: no connection, or one that broke. Another server may be asked. */
  is_unanswered?: boolean
}

/** What one attempt came to. `reply` is the server's last word, printable and clipped. */
export type Outcome =
  | { outcome: 'delivered'; reply: string; via: string }
  | Refused
  /** The dot was written or may have been, and no reply came. */
  | { outcome: 'in_doubt'; reason: string }
  /** Nothing was sent and nobody is to blame: stopped, the lease was lost, or not yet (`delay`, in seconds). */
  | { outcome: 'released'; reason: string; delay?: number }

/** A lane is one destination's, or (`isShared`) that of all which one receiver has. With `wait` nothing may go there before so many seconds. */
export type Route = { lane: string; isShared: boolean; wait: { reason: string; delay: number } | null }

/** How mail leaves: a relay, the recipient's own servers, or nowhere (capture). An outcome is data; nothing throws. */
export type Transport = {
  /** Deliveries at the same moment that make sense. */
  concurrency: number
  /**
   * The pool that mail with this wish takes its slots of; deliveries of one pool never wait for those of another. Without
   * it all mail has one pool, of `concurrency` slots.
   */
  pool?(transport: Wishes['transport']): { name: string; slots: number }
  /** Asked before anything else is done for a delivery; it may take long. Without it each destination is a lane. */
  route?(destination: string, transport?: Wishes['transport']): Promise<Route>
  /** The part of its pool's slots that one lane may have now. Without it, or with null, half of them. */
  share?(lane: string): Share | null
  deliver(outgoing: Outgoing): Promise<Outcome>
  close(): void
}
