import { createDns } from '#lib/net/dns.ts'

/** All addresses of a name, at least one. Rejects when there are none, or when the signal is aborted. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>

/** `/etc/hosts` and search domains have no say, which suits names that strangers give us. */
export function createResolve(servers?: readonly string[]): Resolve {
  const dns = createDns(servers)
  return async (name, signal) => {
    signal.throwIfAborted()
    const aborted = Promise.withResolvers<never>()
    const onAbort = () => aborted.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    const answer = await Promise.race([dns.addresses(name), aborted.promise]).finally(() =>
      signal.removeEventListener('abort', onAbort),
    )
    if (answer.outcome === 'found') return answer.records
    throw new Error(answer.outcome === 'failed' ? answer.reason : 'it has no address')
  }
}
