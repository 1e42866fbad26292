import { SmtpConnectError } from '#lib/delivery/smtp/errors.ts'
import type { SmtpServer, SmtpTimeouts } from '#lib/delivery/smtp/server.ts'
import { SmtpSession } from '#lib/delivery/smtp/session.ts'
import { type Protection, SessionPool } from '#lib/delivery/smtp/session_pool.ts'
import { formatReply } from '#lib/delivery/smtp_reply.ts'
import type { Outcome, Outgoing } from '#lib/delivery/transport.ts'
import { HostMemory } from './host_memory.ts'
import type { MailServer } from './mail_servers.ts'

export type HostOptions = {
  helo_name: string
  port: number
  timeouts: SmtpTimeouts
  /** For all hosts together. */
  connections: number
}

/**
 * `isOver`: the message is settled for now; otherwise the next host may be tried. `hasAnswered`: the host exists and responds;
 * null: it was not tried. `protection`: that of the connection, if there was one.
 */
export type HostTry = { outcome: Outcome; isOver: boolean; hasAnswered: boolean | null; protection: Protection | null }

/**
 * One attempt at one host, with at least this protection. Connections may be opened until `until` (by performance.now), and none
 * is opened while `most` messages to the host are set aside.
 */
export type HostAttempt = {
  server: MailServer
  protection: Protection
  until: number
  most: number
  outgoing: Outgoing
}

/** Sends to hosts by name. Connections are kept while there is mail. Hosts that cannot be reached are left alone for a while. */
export class HostSender {
  readonly #options: HostOptions
  readonly #sessions: SessionPool
  readonly #memory = new HostMemory()

  constructor(options: HostOptions) {
    this.#options = options
    this.#sessions = new SessionPool(options.connections)
  }

  async send(attempt: HostAttempt): Promise<HostTry> {
    const { server, most, outgoing } = attempt
    const silence = this.#memory.silenceOf(server.host)
    const closed = silence.refuses(most)
    if (closed) return notTried(`${server.host} is silent. ${closed}`)
    return silence.watch(outgoing, most, message => this.#send({ ...attempt, outgoing: message }))
  }

  async #send(attempt: HostAttempt): Promise<HostTry> {
    const { server, protection, outgoing } = attempt
    const kept = this.#sessions.take(server.host, protection)
    if (kept) {
      const tried = await this.#sendOn(server.host, kept, outgoing)
      // The server may have closed it meanwhile, which is not a failure of this message.
      if (tried.isOver) return tried
    }
    return this.#sendOnNew(attempt)
  }

  close(): void {
    this.#sessions.close()
  }

  async #sendOnNew(attempt: HostAttempt): Promise<HostTry> {
    const { server, protection, outgoing } = attempt
    const breaker = this.#memory.breakerOf(server.host, protection)
    const closed = breaker.refuses()
    if (closed) return notTried(closed)
    try {
      const session = await this.#open(attempt)
      breaker.succeeded()
      return await this.#sendOn(server.host, session, outgoing)
    } catch (error) {
      if (outgoing.signal.aborted)
        return withoutConnection({ outcome: 'released', reason: 'The worker stopped.' }, true)
      if (!(error instanceof SmtpConnectError)) throw error
      breaker.failed(error.message)
      const reply = error.reply === null ? {} : { reply: formatReply(error.reply) }
      const reason = error.isTls ? `TLS is required here. ${error.message}` : error.message
      const hasAnswered = error.reply !== null || error.isTls
      return {
        ...withoutConnection({ outcome: 'deferred', class: 'infrastructure', reason, ...reply }, false),
        hasAnswered,
      }
    }
  }

  async #sendOn(host: string, session: SmtpSession, outgoing: Outgoing): Promise<HostTry> {
    const { protection } = session
    const outcome = await this.#sessions.use(host, session, () => session.send(outgoing))
    const isOver = outcome.outcome !== 'deferred' || !session.wasStale
    const hasAnswered = outcome.outcome !== 'in_doubt' && 'reply' in outcome
    return { outcome, isOver, hasAnswered, protection }
  }

  /**
   * Connects to the first of the server's addresses that responds. It uses the addresses that were checked, without another
   * look-up.
   */
  async #open({ server, protection, until, outgoing }: HostAttempt): Promise<SmtpSession> {
    const { timeouts } = this.#options
    let failure: SmtpConnectError | null = null
    for (const address of server.addresses) {
      for (const ignore_tls of this.#memory.ignoreTlsChoices(server.host, protection)) {
        const connect = Math.min(timeouts.connect, until - performance.now())
        if (failure && connect <= 0) throw failure
        this.#sessions.makeRoom()
        const target = { ...this.#target(server, address, protection), ignore_tls }
        try {
          return await SmtpSession.open(target, { ...timeouts, connect }, outgoing.signal)
        } catch (error) {
          if (!(error instanceof SmtpConnectError) || outgoing.signal.aborted) throw error
          failure = error
          if (!error.isTls || protection !== 'none') break
          this.#memory.tlsFailed(server.host)
        }
      }
    }
    throw failure
  }

  #target({ host, port }: MailServer, address: string, protection: Protection): SmtpServer {
    const { helo_name } = this.#options
    return {
      host: address,
      port: port ?? this.#options.port,
      label: `${host}[${address}]`,
      via: 'direct',
      secure: false,
      helo_name,
      tls: { servername: host, rejectUnauthorized: protection === 'verified', minVersion: 'TLSv1.2' },
      require_tls: protection !== 'none',
    }
  }
}

function notTried(reason: string): HostTry {
  return withoutConnection({ outcome: 'deferred', class: 'infrastructure', reason }, false)
}

function withoutConnection(outcome: Outcome, isOver: boolean): HostTry {
  return { outcome, isOver, hasAnswered: null, protection: null }
}
