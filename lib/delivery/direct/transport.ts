import type { Share } from '#lib/async/fair_queue.ts'
import type { Protection } from '#lib/delivery/smtp/session_pool.ts'
import type { Outcome, Outgoing, Route, Transport } from '#lib/delivery/transport.ts'
import type { Log } from '#lib/log.ts'
import { domainOf } from '#lib/mail/address.ts'
import { type HostOptions, HostSender, type HostTry } from './host_sender.ts'
import { byPreference, type MailServer, providerOf, type ServersOptions } from './mail_servers.ts'
import type { FindStsPolicy, StsPolicy } from './mta_sts.ts'
import { OutboundWatch } from './outbound_watch.ts'
import { reportTestedPolicy, requiredProtection } from './protection.ts'
import { ProviderLimits } from './provider_limits.ts'
import { rememberServers } from './remember_servers.ts'
import { asksToSlowDown } from './throttling.ts'

/** Connecting may take this many times the timeout of one connection per attempt, for all servers together. */
const CONNECTS_PER_ATTEMPT = 3

const NONE_ALLOWED: Outcome = {
  outcome: 'deferred',
  class: 'infrastructure',
  reason: 'None of its mail servers is one that its MTA-STS policy names.',
}

export type DirectOptions = HostOptions &
  ServersOptions & {
    findPolicy: FindStsPolicy
    log: Log
    /** Limits per provider. */
    limits: { connections: number; per_minute: number }
  }

/**
 * Delivers to the recipients' own mail servers. Domains whose most preferred server belongs to the same provider share a lane and
 * its limits.
 */
export class DirectTransport implements Transport {
  readonly concurrency: number
  readonly #options: DirectOptions
  readonly #hosts: HostSender
  readonly #limits: ProviderLimits
  readonly #watch: OutboundWatch
  readonly #serversOf: ReturnType<typeof rememberServers>

  constructor(options: DirectOptions) {
    this.concurrency = options.connections
    this.#options = options
    this.#hosts = new HostSender(options)
    this.#limits = new ProviderLimits(options.limits)
    this.#watch = new OutboundWatch(options.log)
    this.#serversOf = rememberServers(options)
  }

  share(provider: string): Share | null {
    return this.#limits.share(provider)
  }

  shareWith(workers: number): void {
    this.#limits.shareWith(workers)
  }

  async route(destination: string): Promise<Route> {
    const [found] = await this.#lookUp(destination)
    if (found.outcome === 'refused') return { lane: destination, isShared: false, wait: null }
    return { lane: found.provider, isShared: true, wait: this.#limits.pauseOf(found.provider) }
  }

  async deliver(outgoing: Outgoing): Promise<Outcome> {
    const known = await orStop(this.#lookUp(domainOf(outgoing.recipient)), outgoing.signal)
    if (!known) return { outcome: 'released', reason: 'The worker stopped.' }
    const [found, policy] = known
    return found.outcome === 'refused' ? found.refusal : this.#tryAll(byPreference(found.servers), policy, outgoing)
  }

  close(): void {
    this.#hosts.close()
  }

  /** Looks up the servers and the policy. Both are cached, so that the delivery finds what `route` has looked up. */
  #lookUp(domain: string) {
    return Promise.all([this.#serversOf(domain), this.#options.findPolicy(domain)])
  }

  /** Tries one server after the other, until one accepts or refuses the message. */
  async #tryAll(servers: MailServer[], policy: StsPolicy | null, outgoing: Outgoing): Promise<Outcome> {
    const until = performance.now() + CONNECTS_PER_ATTEMPT * this.#options.timeouts.connect
    const admit = this.#limits.admitMessage()
    let last = NONE_ALLOWED
    for (const server of servers) {
      const protection = await requiredProtection(server, policy, outgoing)
      if (!protection) continue
      const wait = admit(providerOf(server.host))
      if (wait) return { outcome: 'released', ...wait }
      const tried = await this.#try(server, protection, until, outgoing)
      if (policy?.mode === 'testing' && tried.protection) {
        await reportTestedPolicy(server, policy, tried.protection, outgoing, this.#options.log)
      }
      last = tried.outcome
      if (tried.isOver || performance.now() >= until || server === servers.at(-1)) return this.#conclude(server, last)
    }
    return last
  }

  async #try(server: MailServer, protection: Protection, until: number, outgoing: Outgoing): Promise<HostTry> {
    const provider = providerOf(server.host)
    const onSilence = () => {
      this.#limits.failed(provider)
      return outgoing.onSilence?.() ?? false
    }
    const most = this.#limits.share(provider).slots
    const tried = await this.#hosts.send({ server, protection, until, most, outgoing: { ...outgoing, onSilence } })
    this.#learn(server, tried)
    return tried
  }

  /** Records what the response of a host shows about its provider. */
  #learn({ host }: MailServer, { outcome, hasAnswered, isOver }: HostTry): void {
    if (outcome.outcome === 'released' || hasAnswered === null) return
    const provider = providerOf(host)
    const reason = 'reason' in outcome ? outcome.reason : ''
    if (hasAnswered) this.#watch.reached()
    else this.#watch.unreached(host, reason)
    if (!hasAnswered) this.#limits.failed(provider)
    else if (isOver && !isThrottle(outcome)) this.#limits.answered(provider)
  }

  #conclude({ host }: MailServer, outcome: Outcome): Outcome {
    if (!isThrottle(outcome)) return outcome
    const seconds = this.#limits.throttled(providerOf(host))
    const { log } = this.#options
    if (seconds !== null) log.info({ host, seconds, reply: outcome.reply }, 'a provider asked us to slow down')
    return outcome
  }
}

function isThrottle(outcome: Outcome): outcome is Outcome & { reply: string } {
  return outcome.outcome === 'deferred' && outcome.reply !== undefined && asksToSlowDown(outcome.reply)
}

/** Resolves to null if the signal is aborted first. */
async function orStop<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value | null> {
  const stopped = Promise.withResolvers<null>()
  const stop = () => stopped.resolve(null)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  return Promise.race([stopped.promise, promise]).finally(() => signal.removeEventListener('abort', stop))
}
