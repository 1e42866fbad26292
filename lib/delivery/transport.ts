import type { Share } from '#lib/async/fair_queue.ts'
import type { Bounce } from './bounce_details.ts'
import type { ReplyClass } from './smtp_reply.ts'

/** How a domain wants its mail sent. `tls` enforced: never unencrypted. `transport` null: by MAIL_TRANSPORT. */
export type TransportOptions = { tls: 'opportunistic' | 'enforced'; transport: 'capture' | 'relay' | 'direct' | null }

/** A complete message. Only this object refers to its bytes, so that `freeBytes` frees them while the reply is still awaited. */
export type Message = { bytes: Buffer }

/** One message for one recipient, ready for the wire. */
export type Outgoing = TransportOptions & {
  account_id: string
  delivery_id: string
  mail_from: string
  recipient: string
  message: Message
  /** Awaited before the final dot is written. If it resolves to false, the dot must not be written. */
  fence: () => Promise<boolean>
  /**
   * Called if the final dot has had no reply for a while. Returns true if the delivery was set aside: it continues to wait
   * without a slot. Returns false if too many are set aside already: it is called again after the same time.
   */
  onSilence?: (() => boolean) | undefined
  /** Aborted when the process stops: a delivery that has not passed its fence is given up at once. */
  signal: AbortSignal
}

const NO_BYTES = Buffer.alloc(0)

/** Frees the bytes of a message that has been sent completely. */
export function freeBytes(message: Message): void {
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
  /** There was no connection, or it broke, or the server takes no mail from us now: another server may be tried. */
  is_about_server?: boolean
}

/** The outcome of one attempt. `reply` is the last reply of the server, printable and clipped. */
export type Outcome =
  | { outcome: 'delivered'; reply: string; via: string }
  | Refused
  /** The final dot was written, or may have been, and no reply came. */
  | { outcome: 'in_doubt'; reason: string }
  /**
   * Nothing was sent, and it does not count as an attempt: the worker stopped, the lease was lost, or it is too early (`delay`,
   * in seconds).
   */
  | { outcome: 'released'; reason: string; delay?: number }

/**
 * The lane of a destination: its own, or (`isShared`) one for all destinations of the same receiver. `wait`: no mail may go there
 * for `delay` seconds.
 */
export type Route = { lane: string; isShared: boolean; wait: { reason: string; delay: number } | null }

/** Sends mail through a relay, to the recipients' own servers, or nowhere (capture). Failures are outcomes; it never throws. */
export type Transport = {
  /** Number of concurrent deliveries beyond which more gain nothing. */
  concurrency: number
  /**
   * Returns the pool of slots for mail with this transport; deliveries of one pool never wait for those of another. Without this
   * method all mail shares one pool of `concurrency` slots.
   */
  pool?(transport: TransportOptions['transport']): { name: string; slots: number }
  /** Called before anything else is done for a delivery. May take long. Without this method each destination has its own lane. */
  route?(destination: string, transport?: TransportOptions['transport']): Promise<Route>
  /** Returns how many slots of its pool a lane may use now. Without this method, or if it returns null: half of them. */
  share?(lane: string): Share | null
  /** Divides rate limits among this many worker processes. */
  shareWith?(workers: number): void
  deliver(outgoing: Outgoing): Promise<Outcome>
  close(): void
}
