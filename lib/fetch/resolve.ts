import { Resolver } from 'node:dns/promises'

/** All addresses of a name, at least one. Rejects when there are none, or when the signal is aborted. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>

const TRY_MS = 2_000
const TRIES = 3

/**
 * Asks DNS itself, by default the servers of the system. Not `dns.lookup`: that occupies one of the four threads that
 * the whole process has for files, zlib and crypto, so a few names whose servers never answer would stop everything.
 * `/etc/hosts` and search domains have no say, which suits names that strangers give us.
 */
export function createResolve(servers?: string[]): Resolve {
  return async (name, signal) => {
    signal.throwIfAborted()
    const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
    if (servers) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    signal.removeEventListener('abort', cancel)

    const addresses = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length > 0) return addresses
    throw (answers[0] as PromiseRejectedResult).reason
  }
}
