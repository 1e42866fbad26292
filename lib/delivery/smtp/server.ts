import type { SecureVersion } from 'node:tls'
import type { SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection'

/** A server and how to connect to it. */
export type SmtpServer = {
  host: string
  port: number
  /** Its name in errors. Default: its host and port. */
  label?: string
  /** How events say the mail went: `relay`, or `direct` to the recipient's own server. */
  via: 'relay' | 'direct'
  /** TLS from the first byte (smtps); otherwise STARTTLS if the server offers it. */
  secure: boolean
  helo_name: string
  auth?: { user: string; pass: string } | undefined
  tls?: { rejectUnauthorized?: boolean; servername?: string; minVersion?: SecureVersion } | undefined
  require_tls?: boolean | undefined
  ignore_tls?: boolean | undefined
}

/** Absolute limits in ms: a peer that sends a byte now and then gets no more time (RFC 5321 4.5.3.2 for the values). */
export type SmtpTimeouts = {
  /** TCP, greeting, EHLO, TLS and AUTH together. */
  connect: number
  /** From MAIL to the last byte of the message before the dot, in addition to the time for its size. */
  message: number
  /** From the final dot to its reply. */
  dot: number
  /** From the final dot until the delivery is set aside and continues to wait without a slot. Default: 30 s. */
  silence?: number
  /**
   * A relay is skipped if all its connections are in use and it has sent no reply for this long after the end of a message.
   * Default: 1 s.
   */
  stall?: number
}

export const SILENCE_MS = 30_000
export const STALL_MS = 1_000

export const DEFAULT_TIMEOUTS: SmtpTimeouts = { connect: 60_000, message: 300_000, dot: 600_000 }

/** Returns the options of nodemailer's connection. */
export function connectionOptions(server: SmtpServer, timeouts: SmtpTimeouts): SMTPConnectionOptions {
  return {
    host: server.host,
    port: server.port,
    secure: server.secure,
    name: server.helo_name,
    ignoreTLS: server.ignore_tls,
    requireTLS: server.require_tls,
    tls: server.tls,
    // Our own timers are absolute and shorter, and do not count the time for which this process was blocked.
    connectionTimeout: 3 * timeouts.connect,
    greetingTimeout: 3 * timeouts.connect,
    socketTimeout: timeouts.dot + timeouts.message,
    socketCloseTimeout: 0,
    logger: false,
  }
}
