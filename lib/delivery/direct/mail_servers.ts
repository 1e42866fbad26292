import { isIP } from 'node:net'
import { judgeReply } from '#lib/delivery/judge_reply.ts'
import type { Refused } from '#lib/delivery/transport.ts'
import type { Answer, Dns, Mx } from '#lib/net/dns.ts'
import { registrableDomain } from '#lib/net/domain_name.ts'
import { type AddressPolicy, isAllowedAddress } from '#lib/net/fetch_safely.ts'
import { isOwnAddress } from './own_address.ts'

/** Maximum number of hosts and addresses that are tried. */
const MAX_HOSTS = 10
const MAX_ADDRESSES = 4

/** Where this host reaches itself if its name resolves to an address that a router translates. */
const LOOPBACK = '127.0.0.1'

/** A mail server, with those of its addresses that may be connected to. `port`: if it is not the usual one. */
export type MailServer = { host: string; priority: number; addresses: string[]; port?: number }

/**
 * Where mail for a domain goes: at least one host, in order of preference, each with an address. `provider` is the domain of the
 * operator of the most preferred host. `unsure`: some look-ups failed.
 */
export type MailServers =
  | { outcome: 'found'; servers: MailServer[]; provider: string; unsure: boolean }
  | { outcome: 'refused'; refusal: Refused }

export type ServersOptions = {
  dns: Pick<Dns, 'mx' | 'addresses'>
  policy: AddressPolicy
  /** This host's name in EHLO: mail sent to it would return to us. */
  helo_name: string
  /**
   * The port on which this host receives mail: its firewall forwards port 25 there, but not for connections that it makes
   * itself. It passes no mail on, so none can loop. 0: it receives none.
   */
  own_port?: number
  isOwn?: (address: string, policy: AddressPolicy) => boolean
}

/** Looks up the servers of a domain (RFC 5321 section 5.1). Never rejects. */
export async function findMailServers(domain: string, options: ServersOptions): Promise<MailServers> {
  const mx = await options.dns.mx(domain)
  if (mx.outcome === 'failed') return later(`The mail servers of ${domain} could not be looked up: ${mx.reason}.`)
  if (mx.outcome === 'none') {
    if (!mx.exists) return noSuchDomain(domain)
    return chooseServers(domain, [await lookUp({ exchange: domain, priority: 0 }, options)], options, true)
  }
  // RFC 7505: a null MX is the only record.
  if (mx.records.every(({ exchange }) => exchange === '')) {
    return { outcome: 'refused', refusal: bounce('556 5.1.10', `${domain} accepts no mail.`) }
  }
  const best = mx.records
    .filter(({ exchange }) => exchange !== '' && !isIP(exchange))
    .sort((a, b) => a.priority - b.priority)
    .slice(0, MAX_HOSTS)
  return chooseServers(domain, await Promise.all(best.map(record => lookUp(record, options))), options, false)
}

type Host = Mx & { answer: Answer<string> }

async function lookUp(mx: Mx, { dns }: ServersOptions): Promise<Host> {
  return { ...mx, answer: await dns.addresses(mx.exchange) }
}

function chooseServers(domain: string, hosts: Host[], options: ServersOptions, isImplicit: boolean): MailServers {
  const { policy, isOwn = isOwnAddress, helo_name, own_port = 0 } = options
  const found = hosts.flatMap(host => (host.answer.outcome === 'found' ? [{ ...host, all: host.answer.records }] : []))
  const isSelf = ({ exchange, all }: (typeof found)[number]) =>
    exchange === helo_name.toLowerCase() || all.some(address => isOwn(address, policy))
  // RFC 5321 5.1: a host with the same or a lower preference than ours would send the mail back to us.
  const own = Math.min(...found.filter(isSelf).map(({ priority }) => priority))
  const servers = found
    .flatMap(({ exchange, priority, all }): MailServer[] => {
      const server = { host: exchange, priority }
      if (priority < own) return [{ ...server, addresses: all.filter(address => isAllowedAddress(address, policy)) }]
      if (priority > own || own_port === 0) return []
      const here = all.filter(address => isOwn(address, policy))
      return [{ ...server, addresses: here.length > 0 ? here : [LOOPBACK], port: own_port }]
    })
    .filter(({ addresses }) => addresses.length > 0)
    .map(server => ({ ...server, addresses: server.addresses.slice(0, MAX_ADDRESSES) }))
  const failure = hosts.find(({ answer }) => answer.outcome === 'failed')
  if (servers[0]) return { outcome: 'found', servers, provider: providerOf(servers[0].host), unsure: Boolean(failure) }

  if (failure) return later(`The address of ${failure.exchange} could not be looked up.`)
  if (own < Number.POSITIVE_INFINITY) return fail(`Mail for ${domain} loops back: this host is its mail server.`)
  if (found.length > 0) return fail(`The mail servers of ${domain} are at no address that mail may go to.`)
  if (isImplicit) return noSuchDomain(domain)
  return later(`None of the mail servers of ${domain} has an address.`)
}

/** Returns the domain of the host's operator. One provider may serve thousands of domains, which share its limits. */
export function providerOf(host: string): string {
  return registrableDomain(host) ?? host
}

function noSuchDomain(domain: string): MailServers {
  return { outcome: 'refused', refusal: bounce('550 5.1.2', `${domain} has no mail server.`) }
}

/** Returns a refusal as if a server of the recipient had sent it. */
function bounce(code: string, text: string): Refused {
  return { ...judgeReply(`${code} ${text}`, 'rcpt'), reason: text }
}

function fail(reason: string): MailServers {
  return { outcome: 'refused', refusal: { outcome: 'failed', class: 'policy', reason } }
}

function later(reason: string): MailServers {
  return { outcome: 'refused', refusal: { outcome: 'deferred', class: 'infrastructure', reason } }
}

/** Sorts servers by preference, in random order among equals (RFC 5321 section 5.1). */
export function byPreference(servers: MailServer[]): MailServer[] {
  return servers
    .map(server => ({ server, order: Math.random() }))
    .sort((a, b) => a.server.priority - b.server.priority || a.order - b.order)
    .map(({ server }) => server)
}
