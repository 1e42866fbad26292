import type { ContentLimits } from './content_check.ts'

/** Limits for the clients of the listener. Times are absolute: bytes that a client sends do not extend them. */
export type SmtpLimits = ContentLimits & {
  recipients: number
  connections: number
  /** From one address, or one /64 of IPv6. */
  connections_per_address: number
  /** Commands since the last message. */
  commands: number
  /** 5xx replies per session. */
  errors: number
  /** Messages that are being stored at a time; above that, clients are told to retry later. */
  storing: number
  greeting_delay_ms: number
  /** How long a domain continues to receive after its removal. */
  remember_ms: number
  /** How long a session must be idle before it may be ended to make room for another. */
  spare_ms: number
  session_ms: number
  /** Time for a complete command. */
  command_ms: number
  data_ms: number
  /** Bytes per second at which a message must arrive after the grace period. */
  data_rate: number
  data_grace_ms: number
  /** Time for storing a message after it has arrived. */
  store_ms: number
  /** How long a long message waits until it can be stored. The client waits too, and gives up after 3 minutes. */
  place_ms: number
  /** How long a short message waits for a bucket before Postgres stores it. */
  bucket_ms: number
  /** Time for messages under way when the process stops. */
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
