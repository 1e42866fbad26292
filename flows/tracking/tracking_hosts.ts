import { LRUCache } from 'lru-cache'
import type { Log } from '#lib/log.ts'
import type { Pool } from '#sql/pool.ts'
import { isTrackingHost } from '#sql/tracking/tracking_hosts.ts'

/** A host is looked up again in the background if its entry is older than this. */
const FRESH_MS = 60_000
const HOSTS = 10_000

export type IsTrackingHost = (host: string) => Promise<boolean>

/**
 * Returns a function that tells if a host is a tracking host, with a cache. If the lookup fails, the last known answer
 * is used, and false for an unknown host.
 */
export function createIsTrackingHost({ pool, log }: { pool: Pool; log: Log }): IsTrackingHost {
  const hosts = new LRUCache<string, { isOne: boolean }>({
    ...{ maxSize: HOSTS, sizeCalculation: () => 1, ttl: FRESH_MS, allowStale: true, noDeleteOnFetchRejection: true },
    fetchMethod: async host => ({ isOne: await isTrackingHost(pool, host) }),
  })
  return async host => {
    try {
      return (await hosts.forceFetch(host)).isOne
    } catch (error) {
      log.warn({ err: error }, 'a tracking host could not be looked up')
      return false
    }
  }
}
