import type { Protection } from '#lib/delivery/smtp/session_pool.ts'
import type { Outcome, Outgoing, Transport } from '#lib/delivery/transport.ts'
import type { Log } from '#lib/log.ts'
import { domainOf } from '#lib/mail/address.ts'
import type { Dns } from '#lib/net/dns.ts'
import type { AddressPolicy } from '#lib/net/fetch_safely.ts'
import { type HostOptions, HostSender, type HostTry } from './host_sender.ts'
import { type MailServer, providerOf } from './mail_servers.ts'
import { allowsHost, type FindStsPolicy, type StsPolicy } from './mta_sts.ts'
import { OutboundWatch } from './outbound_watch.ts'
import { ProviderLimits } from './provider_limits.ts'
import { rememberServers } from './remember_servers.ts'
import { asksToSlowDown } from './throttling.ts'

/** Of one attempt all connections together may take as long as so many. */
const CONNECTS_PER_ATTEMPT = 3

export type DirectOptions = HostOptions & {
  dns: Pick<Dns, 'mx' | 'addresses'>
  policy: AddressPolicy
  findPolicy: FindStsPolicy
  log: Log
  /** Of one provider. */
  limits: { connections: number; per_minute: number }
  isOwn?: (address: string, policy: AddressPolicy) => boolean
}

/** Delivers to the recipients' own mail servers. Domains whose best server one provider runs share its lane and limits. */
export function createDirectTransport(options: DirectOptions): Transport {
  const { timeouts, connections, findPolicy, log } = options
  const hosts = new HostSender(options)
  const limits = new ProviderLimits(options.limits)
  const watch = new OutboundWatch(log)
  const serversOf = rememberServers(options)

  /** What one host's answer says of its provider. */
  const learn = ({ host }: MailServer, { outcome, hasAnswered, isOver }: HostTry) => {
    if (outcome.outcome === 'released' || hasAnswered === null) return
    const provider = providerOf(host)
    const reason = 'reason' in outcome ? outcome.reason : ''
    if (hasAnswered) watch.reached()
    else watch.unreached(host, reason)
    if (!hasAnswered) limits.failed(provider)
    else if (isOver && !isThrottle(outcome)) limits.answered(provider)
  }

  const conclude = ({ host }: MailServer, outcome: Outcome): Outcome => {
    if (!isThrottle(outcome)) return outcome
    const seconds = limits.throttled(providerOf(host))
    if (seconds !== null) log.info({ host, seconds, reply: outcome.reply }, 'a provider asked us to slow down')
    return outcome
  }

  /** One after the other, until one has taken or refused it. */
  const tryAll = async (servers: MailServer[], policy: StsPolicy | null, outgoing: Outgoing): Promise<Outcome> => {
    const until = performance.now() + CONNECTS_PER_ATTEMPT * timeouts.connect
    let last: Outcome = {
      outcome: 'deferred',
      class: 'infrastructure',
      reason: 'None of its mail servers is one that its MTA-STS policy names.',
    }
    for (const server of servers) {
      const protection = await demand(server, policy, outgoing)
      if (!protection) continue
      const provider = providerOf(server.host)
      const wait = limits.admit(provider)
      if (wait) return { outcome: 'released', ...wait }
      const onSilence = () => {
        limits.failed(provider)
        return outgoing.onSilence?.() ?? false
      }
      const most = limits.share(provider).slots
      const tried = await hosts.send({ server, protection, until, most, outgoing: { ...outgoing, onSilence } })
      learn(server, tried)
      if (policy?.mode === 'testing' && tried.protection) {
        await reportTest(server, policy, tried.protection, outgoing, log)
      }
      last = tried.outcome
      if (tried.isOver || performance.now() >= until || server === servers.at(-1)) return conclude(server, last)
    }
    return last
  }

  return {
    concurrency: connections,
    share: provider => limits.share(provider),
    async route(destination) {
      // Both are remembered: the delivery finds them at hand.
      const [found] = await Promise.all([serversOf(destination), findPolicy(destination)])
      if (found.outcome === 'refused') return { lane: destination, isShared: false, wait: null }
      return { lane: found.provider, isShared: true, wait: limits.pauseOf(found.provider) }
    },
    async deliver(outgoing) {
      const domain = domainOf(outgoing.recipient)
      const known = await orStop(Promise.all([serversOf(domain), findPolicy(domain)]), outgoing.signal)
      if (!known) return { outcome: 'released', reason: 'The worker stopped.' }
      const [found, policy] = known
      return found.outcome === 'refused' ? found.refusal : tryAll(inTurn(found.servers), policy, outgoing)
    },
    close: () => hosts.close(),
  }
}

/** By preference, and in any order among equals (RFC 5321 section 5.1). */
function inTurn(servers: MailServer[]): MailServer[] {
  return servers
    .map(server => ({ server, order: Math.random() }))
    .sort((a, b) => a.server.priority - b.server.priority || a.order - b.order)
    .map(({ server }) => server)
}

/** How well a connection to the host must be protected; null: no mail may go there (RFC 8461 section 5). */
async function demand(server: MailServer, policy: StsPolicy | null, { tls }: Outgoing): Promise<Protection | null> {
  if (policy?.mode === 'enforce') return (await allowsHost(policy, server.host)) ? 'verified' : null
  return tls === 'enforced' ? 'encrypted' : 'none'
}

async function reportTest(
  { host }: MailServer,
  policy: StsPolicy,
  protection: Protection,
  { delivery_id }: Outgoing,
  log: Log,
): Promise<void> {
  if (protection === 'verified' && (await allowsHost(policy, host))) return
  log.info({ delivery_id, host, protection }, 'an MTA-STS policy that is being tested would have kept this mail')
}

function isThrottle(outcome: Outcome): outcome is Outcome & { reply: string } {
  return outcome.outcome === 'deferred' && outcome.reply !== undefined && asksToSlowDown(outcome.reply)
}

/** Null when the signal is aborted first. */
async function orStop<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value | null> {
  const stopped = Promise.withResolvers<null>()
  const stop = () => stopped.resolve(null)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  return Promise.race([stopped.promise, promise]).finally(() => signal.removeEventListener('abort', stop))
}
