import type { SecureVersion } from 'node:tls'
import type { SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection'

/** A server and how to get in. */
export type SmtpServer = {
  host: string
  port: number
  /** What it is called in errors. Default: its host and port. */
  label?: string
  /** What an event says of how the mail went: `relay`, or `direct` to the recipient's own server. */
  via: 'relay' | 'direct'
  /** TLS from the first byte (smtps); otherwise STARTTLS when the server offers it. */
  secure: boolean
  helo_name: string
  auth?: { user: string; pass: string } | undefined
  tls?: { rejectUnauthorized?: boolean; servername?: string; minVersion?: SecureVersion } | undefined
  require_tls?: boolean | undefined
  ignore_tls?: boolean | undefined
}

/** Absolute limits in ms: a peer that dribbles a byte now and then gets no more time (RFC 5321 4.5.3.2 for the values). */
export type SmtpTimeouts = {
  /** TCP, greeting, EHLO, TLS and AUTH together. */
  connect: number
  /** MAIL to the last byte of the message but the dot, on top of the time for its size. */
  message: number
  /** From the final dot to its reply. */
  dot: number
  /** From the final dot until the delivery is set aside: it goes on waiting, without a place. Default: 30 s. */
  silence?: number
  /**
   * A relay whose connections are all in use and that has answered nothing for so long, with a message ended, is passed
   * over for the next one. Default: 1 s.
   */
  stall?: number
}

export const SILENCE_MS = 30_000
export const STALL_MS = 1_000

export const DEFAULT_TIMEOUTS: SmtpTimeouts = { connect: 60_000, message: 300_000, dot: 600_000 }

/** What nodemailer's connection is told of both. */
export function connectionOptions(server: SmtpServer, timeouts: SmtpTimeouts): SMTPConnectionOptions {
  return {
    host: server.host,
    port: server.port,
    secure: server.secure,
    name: server.helo_name,
    ignoreTLS: server.ignore_tls,
    requireTLS: server.require_tls,
    tls: server.tls,
    // Our own timers are absolute, shorter, and do not count the time for which this process stood still.
    connectionTimeout: 3 * timeouts.connect,
    greetingTimeout: 3 * timeouts.connect,
    socketTimeout: timeouts.dot + timeouts.message,
    socketCloseTimeout: 0,
    logger: false,
  }
}
