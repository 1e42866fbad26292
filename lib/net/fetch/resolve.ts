import { createDns } from '#lib/net/dns.ts'

/** Resolves to all addresses of a name, at least one. Rejects if there are none, or if the signal is aborted. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>

/** Ignores `/etc/hosts` and search domains, which suits names that users give us. */
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
