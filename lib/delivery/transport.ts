import type { Share } from '#lib/async/fair_queue.ts'
import type { Bounce } from './bounce_details.ts'
import type { ReplyClass } from './smtp_reply.ts'

/** How a domain wants its mail sent. `tls` enforced: never unencrypted. `transport` null: MAIL_TRANSPORT. */
export type Wishes = { tls: 'opportunistic' | 'enforced'; transport: 'capture' | 'relay' | 'direct' | null }

/** A finished message. Only this object holds its bytes, so that `letGo` frees them while the reply is still awaited. */
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
   * Called if no reply to the final dot has come for a while. True: the delivery was set aside; it goes on waiting, without
   * a slot. False: too many are set aside already; it is called again after the same time.
   */
  onSilence?: (() => boolean) | undefined
  /** Aborted when the process stops: a delivery that has not passed its fence gives up at once. */
  signal: AbortSignal
}

const NO_BYTES = Buffer.alloc(0)

/** Frees the bytes of a message that has been sent completely. */
export function letGo(message: Message): void {
  message.bytes = NO_BYTES
}

/** The server, or the connection to it, did not take the message. */
export type Refused = {
  outcome: 'deferred' | 'bounced' | 'failed'
  reason: string
  reply?: string
  class?: ReplyClass['class']
  bounce?: Bounce
  /** Seconds after which the server wants the next attempt. */
  retry_after?: number
  /** No connection, or one that broke before a reply: another server may be tried. */
  is_unanswered?: boolean
}

/** The outcome of one attempt. `reply` is the last reply of the server, printable and clipped. */
export type Outcome =
  | { outcome: 'delivered'; reply: string; via: string }
  | Refused
  /** The final dot was, or may have been, written, and no reply came. */
  | { outcome: 'in_doubt'; reason: string }
  /** Nothing was sent, and it does not count as an attempt: stopped, lease lost, or not yet (`delay`, in seconds). */
  | { outcome: 'released'; reason: string; delay?: number }

/**
 * The lane of a destination: its own, or (`isShared`) one for all destinations of the same receiver. `wait`: nothing may go
 * there for `delay` seconds.
 */
export type Route = { lane: string; isShared: boolean; wait: { reason: string; delay: number } | null }

/** Sends mail by a relay, to the recipients' own servers, or nowhere (capture). Failures are outcomes; nothing throws. */
export type Transport = {
  /** Most deliveries at the same time that make sense. */
  concurrency: number
  /**
   * The pool of slots for mail that wants this transport; deliveries of one pool never wait for those of another. Without
   * this method all mail shares one pool of `concurrency` slots.
   */
  pool?(transport: Wishes['transport']): { name: string; slots: number }
  /** Called before anything else is done for a delivery; may take long. Without it each destination has its own lane. */
  route?(destination: string, transport?: Wishes['transport']): Promise<Route>
  /** The share of the slots of its pool that a lane may have now. Without it, or if null: half of them. */
  share?(lane: string): Share | null
  /** Limits of rates are those of so many worker processes together. */
  shareWith?(workers: number): void
  deliver(outgoing: Outgoing): Promise<Outcome>
  close(): void
}
