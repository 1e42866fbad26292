import { parseConnectionUrl } from 'nodemailer/lib/shared'
import { Breaker } from './breaker.ts'
import type { Outcome, Outgoing, Transport } from './deliver.ts'
import { formatReply } from './smtp_reply.ts'
import type { SmtpServer, SmtpTimeouts } from './smtp_server.ts'
import { SmtpConnectError, SmtpSession } from './smtp_session.ts'

/** Servers close a connection that sends for ever; better to do it first. */
const MESSAGES_PER_CONNECTION = 100
const IDLE_MS = 5_000

const unreached = { outcome: 'deferred', class: 'infrastructure', is_unanswered: true } as const

/** The server of a relay URL such as `smtp://user:pass@host:587?tls.rejectUnauthorized=false`. */
export function relayServer(url: string, helo_name: string): SmtpServer {
  const { host, port, secure, auth, tls, requireTLS, ignoreTLS } = parseConnectionUrl(url)
  const withPassword = auth?.user !== undefined && auth.pass !== undefined
  return {
    host: host ?? 'localhost',
    port: Number(port ?? (secure ? 465 : 25)),
    secure: Boolean(secure),
    via: 'relay',
    helo_name,
    auth: withPassword ? { user: String(auth.user), pass: String(auth.pass) } : undefined,
    tls,
    require_tls: Boolean(requireTLS),
    ignore_tls: Boolean(ignoreTLS),
  }
}

/**
 * Sends everything through one server, over connections that are kept while there is mail. `onConfiguration` is told of
 * each new connection why none can be made until somebody changes the configuration, or null when it was made.
 */
export function createSmtpTransport(
  server: SmtpServer,
  timeouts: SmtpTimeouts,
  connections: number,
  onConfiguration: (fault: string | null) => void = () => {},
): Transport {
  const idle: { session: SmtpSession; timer: NodeJS.Timeout }[] = []
  const busy = new Set<SmtpSession>()
  const breaker = new Breaker()

  const takeIdle = (): SmtpSession | null => {
    for (let entry = idle.pop(); entry; entry = idle.pop()) {
      clearTimeout(entry.timer)
      if (entry.session.isOpen) return entry.session
    }
    return null
  }

  const giveBack = (session: SmtpSession) => {
    if (!session.isOpen) return
    if (session.sent >= MESSAGES_PER_CONNECTION) return session.quit()
    idle.push({ session, timer: setTimeout(() => session.quit(), IDLE_MS) })
  }

  const sendOn = async (session: SmtpSession, outgoing: Outgoing): Promise<Outcome> => {
    busy.add(session)
    const outcome = await session.send(outgoing)
    busy.delete(session)
    giveBack(session)
    return outcome
  }

  const sendOnNew = async (outgoing: Outgoing): Promise<Outcome> => {
    const closed = breaker.refuses()
    if (closed) return { ...unreached, reason: closed }
    let session: SmtpSession
    try {
      session = await SmtpSession.open(server, timeouts, outgoing.signal)
    } catch (error) {
      if (outgoing.signal.aborted) return { outcome: 'released', reason: 'The worker stopped.' }
      if (!(error instanceof SmtpConnectError)) throw error
      breaker.failed(error.message)
      if (error.isConfiguration) onConfiguration(error.message)
      const reply = error.reply === null ? {} : { reply: formatReply(error.reply) }
      return { ...unreached, reason: error.message, ...reply }
    }
    breaker.succeeded()
    onConfiguration(null)
    return sendOn(session, outgoing)
  }

  return {
    concurrency: connections,
    async deliver(outgoing) {
      const kept = takeIdle()
      if (!kept) return sendOnNew(outgoing)
      const outcome = await sendOn(kept, outgoing)
      // A kept connection may have been closed by the server meanwhile: that is no failure of this message.
      return outcome.outcome === 'deferred' && kept.wasStale ? sendOnNew(outgoing) : outcome
    },
    close() {
      for (const session of busy) session.close()
      for (const { session, timer } of idle.splice(0)) {
        clearTimeout(timer)
        session.quit()
      }
    },
  }
}
