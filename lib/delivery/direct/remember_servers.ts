import { Semaphore } from '#lib/async/semaphore.ts'
import { remember, TtlCache } from '#lib/async/ttl_cache.ts'
import type { Answer } from '#lib/net/dns.ts'
import { findMailServers, type MailServers, type ServersOptions } from './mail_servers.ts'

const REMEMBERED_DOMAINS = 10_000

/** How long DNS results of a domain are cached, and how long incomplete ones. */
const FOUND_MS = 5 * 60_000
const UNSURE_MS = 10_000

/** How long the addresses of a host are cached, which thousands of domains may share. */
const ADDRESSES_MS = 60_000

/** Concurrent look-ups. A name server that does not respond holds one for 20 s. */
const LOOKUPS = 256

/** Returns a cached `findMailServers`, which asks DNS for a domain once in a while, however much mail there is for it. */
export function rememberServers(options: ServersOptions): (domain: string) => Promise<MailServers> {
  const room = new Semaphore(LOOKUPS)
  const { mx, addresses } = options.dns
  const cacheTimeOf = ({ outcome }: Answer<string>) => (outcome === 'failed' ? UNSURE_MS : ADDRESSES_MS)
  const addressesOf = remember(new TtlCache<Answer<string>>(REMEMBERED_DOMAINS), addresses, cacheTimeOf)
  const dns = { mx, addresses: (name: string) => addressesOf(name) }
  const find = async (domain: string) => {
    await room.acquire()
    return findMailServers(domain, { ...options, dns }).finally(() => room.release())
  }
  return remember(new TtlCache<MailServers>(REMEMBERED_DOMAINS), find, found => {
    const isUnsure = found.outcome === 'found' ? found.unsure : found.refusal.outcome === 'deferred'
    return isUnsure ? UNSURE_MS : FOUND_MS
  })
}
