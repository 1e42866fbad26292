import type { ContentLimits } from './content_check.ts'

/** What one client may take of the listener. Times are absolute: no byte that a client sends makes one longer. */
export type SmtpLimits = ContentLimits & {
  recipients: number
  connections: number
  /** Of one address, or one /64 of IPv6. */
  connections_per_address: number
  /** Since the last message. */
  commands: number
  /** Replies of 5xx in one session. */
  errors: number
  /** Messages that are being stored, before others are told to come later. */
  storing: number
  greeting_delay_ms: number
  /** That a domain still receives, once it has gone. */
  remember_ms: number
  /** Of doing nothing, after which a session ends when another needs its place. */
  spare_ms: number
  session_ms: number
  /** Until a command is complete. */
  command_ms: number
  data_ms: number
  /** Bytes per second that a message must come at, once the grace is over. */
  data_rate: number
  data_grace_ms: number
  /** Until a message is stored, once it has arrived. */
  store_ms: number
  /** That a long message waits until it can be written: the client, which waits as well, gives up after 3 minutes. */
  place_ms: number
  /** That a short message waits for a bucket before Postgres stores it. */
  bucket_ms: number
  /** For messages under way, when the process stops. */
  stop_ms: number
}

export const SMTP_LIMITS: Omit<SmtpLimits, 'connections' | 'connections_per_address' | 'greeting_delay_ms'> = {
  size: 40 * 1024 * 1024,
  headers: 10_000,
  header_bytes: 1024 * 1024,
  received: 50,
  recipients: 100,
  commands: 1_000,
  errors: 20,
  storing: 150,
  remember_ms: 1_000,
  spare_ms: 2_000,
  session_ms: 600_000,
  command_ms: 300_000,
  data_ms: 900_000,
  data_rate: 500,
  data_grace_ms: 30_000,
  store_ms: 60_000,
  place_ms: 20_000,
  bucket_ms: 5_000,
  stop_ms: 30_000,
}
