import { parseConnectionUrl } from 'nodemailer/lib/shared'
import { Breaker } from '#lib/async/circuit_breaker.ts'
import { formatReply } from '#lib/delivery/smtp_reply.ts'
import type { Outcome, Outgoing, Transport } from '#lib/delivery/transport.ts'
import { SmtpConnectError } from './errors.ts'
import type { SmtpServer, SmtpTimeouts } from './server.ts'
import { SmtpSession } from './session.ts'
import { SessionPool } from './session_pool.ts'

const unreached = { outcome: 'deferred', class: 'infrastructure', is_about_server: true } as const

/** Parses a relay URL such as `smtp://user:pass@host:587?tls.rejectUnauthorized=false`. */
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
 * Sends everything through one server, over connections that are kept while there is mail. For each new connection
 * `onConfiguration` is called with null, or with the reason why none can be made until somebody changes the configuration.
 */
export function createSmtpTransport(
  server: SmtpServer,
  timeouts: SmtpTimeouts,
  connections: number,
  onConfiguration: (fault: string | null) => void = () => {},
): Transport {
  const sessions = new SessionPool(connections)
  const breaker = new Breaker()

  const sendOn = (session: SmtpSession, outgoing: Outgoing): Promise<Outcome> =>
    sessions.use(server.host, session, () => session.send(outgoing))

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
      const kept = sessions.take(server.host, 'none')
      if (!kept) return sendOnNew(outgoing)
      const outcome = await sendOn(kept, outgoing)
      // The server may have closed a kept connection meanwhile, which is not a failure of this message.
      return outcome.outcome === 'deferred' && kept.wasStale ? sendOnNew(outgoing) : outcome
    },
    close: () => sessions.close(),
  }
}
