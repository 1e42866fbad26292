import { Breaker } from '../breaker.ts'
import type { Outcome, Outgoing, Transport } from '../deliver.ts'
import type { Dns } from '../dns.ts'
import type { AddressPolicy } from '../fetch_safely.ts'
import { formatReply } from '../smtp_reply.ts'
import type { SmtpServer, SmtpTimeouts } from '../smtp_server.ts'
import { SmtpConnectError, SmtpSession } from '../smtp_session.ts'
import { findMailServers, type MailServer, type MailServers } from './mail_servers.ts'
import { Memory, remember } from './memory.ts'
import { type Protection, Sessions } from './sessions.ts'

const REMEMBERED_DOMAINS = 10_000
const REMEMBERED_HOSTS = 10_000

/** How long what DNS said of a domain is remembered, and that it could not say all. */
const FOUND_MS = 5 * 60_000
const UNSURE_MS = 10_000

/** How long a host is spoken to in the clear after TLS with it failed, and how long its failures are remembered. */
const NO_TLS_MS = 10 * 60_000
const BREAKER_MS = 30 * 60_000

/** Of one attempt all connections together may take as long as so many. */
const CONNECTS_PER_ATTEMPT = 3

export type DirectOptions = {
  dns: Dns
  policy: AddressPolicy
  helo_name: string
  port: number
  timeouts: SmtpTimeouts
  /** Of all hosts together. */
  connections: number
  isOwn?: (address: string, policy: AddressPolicy) => boolean
}

/** Delivers to the recipients' own mail servers, over connections that are kept while there is mail. */
export function createDirectTransport(options: DirectOptions): Transport {
  const { timeouts, connections } = options
  const sessions = new Sessions(connections)
  const breakers = new Memory<Breaker>(REMEMBERED_HOSTS)
  const withoutTls = new Memory<true>(REMEMBERED_HOSTS)
  const serversOf = remember<MailServers>(
    new Memory(REMEMBERED_DOMAINS),
    domain => findMailServers(domain, options),
    keepFor,
  )

  const breakerOf = (host: string) => {
    const breaker = breakers.get(host) ?? new Breaker()
    breakers.set(host, breaker, BREAKER_MS)
    return breaker
  }

  /** With one host, over the first of its addresses that answers. */
  const open = async (server: MailServer, protection: Protection, until: number, signal: AbortSignal) => {
    let failure: SmtpConnectError | null = null
    for (const address of server.addresses) {
      const target = smtpServer(server.host, address, protection, options)
      for (const ignore_tls of withoutTls.get(server.host) && protection === 'none' ? [true] : [false, true]) {
        const connect = Math.min(timeouts.connect, until - performance.now())
        if (connect <= 0)
          throw failure ?? new SmtpConnectError('no time', null, { isConfiguration: false, isTls: false })
        try {
          sessions.makeRoom()
          return await SmtpSession.open({ ...target, ignore_tls }, { ...timeouts, connect }, signal)
        } catch (error) {
          if (!(error instanceof SmtpConnectError) || signal.aborted) throw error
          failure = error
          if (!error.isTls || protection !== 'none') break
          withoutTls.set(server.host, true, NO_TLS_MS)
        }
      }
    }
    throw failure
  }

  const sendOn = (host: string, session: SmtpSession, outgoing: Outgoing) =>
    sessions.use(host, session, kept => kept.send(outgoing))

  /** Null: the next host may be tried. */
  const tryHost = async (
    server: MailServer,
    outgoing: Outgoing,
    until: number,
  ): Promise<{ outcome: Outcome; isOver: boolean }> => {
    const protection: Protection = outgoing.tls === 'enforced' ? 'encrypted' : 'none'
    const kept = sessions.take(server.host, protection)
    if (kept) {
      const outcome = await sendOn(server.host, kept, outgoing)
      if (!(outcome.outcome === 'deferred' && kept.wasStale)) return { outcome, isOver: true }
    }
    const breaker = breakerOf(server.host)
    const closed = breaker.refuses()
    if (closed) return { outcome: { outcome: 'deferred', reason: closed }, isOver: false }
    try {
      const session = await open(server, protection, until, outgoing.signal)
      breaker.succeeded()
      const outcome = await sendOn(server.host, session, outgoing)
      return { outcome, isOver: outcome.outcome !== 'deferred' || !session.wasStale }
    } catch (error) {
      if (outgoing.signal.aborted)
        return { outcome: { outcome: 'released', reason: 'The worker stopped.' }, isOver: true }
      if (!(error instanceof SmtpConnectError)) throw error
      breaker.failed(error.message)
      const reply = error.reply === null ? {} : { reply: formatReply(error.reply) }
      return { outcome: { outcome: 'deferred', reason: error.message, ...reply }, isOver: false }
    }
  }

  return {
    concurrency: connections,
    async deliver(outgoing) {
      const found = await serversOf(domainOf(outgoing.recipient))
      if (found.outcome === 'refused') return found.verdict
      const until = performance.now() + CONNECTS_PER_ATTEMPT * timeouts.connect
      let last: Outcome = { outcome: 'deferred', reason: 'No mail server was tried.' }
      for (const server of inTurn(found.servers)) {
        const { outcome, isOver } = await tryHost(server, outgoing, until)
        if (isOver) return outcome
        last = outcome
        if (performance.now() >= until) break
      }
      return last
    },
    close: () => sessions.close(),
  }
}

function keepFor(found: MailServers): number {
  const isUnsure = found.outcome === 'found' ? found.unsure : found.verdict.outcome === 'deferred'
  return isUnsure ? UNSURE_MS : FOUND_MS
}

/** By preference, and in any order among equals (RFC 5321 section 5.1). */
function inTurn(servers: MailServer[]): MailServer[] {
  return servers
    .map(server => ({ server, order: Math.random() }))
    .sort((a, b) => a.server.priority - b.server.priority || a.order - b.order)
    .map(({ server }) => server)
}

function smtpServer(host: string, address: string, protection: Protection, options: DirectOptions): SmtpServer {
  return {
    host: address,
    port: options.port,
    label: `${host}[${address}]`,
    via: 'direct',
    secure: false,
    helo_name: options.helo_name,
    tls: { servername: host, rejectUnauthorized: protection === 'verified', minVersion: 'TLSv1.2' },
    require_tls: protection !== 'none',
  }
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase()
}
