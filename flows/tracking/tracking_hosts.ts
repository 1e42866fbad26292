import { LRUCache } from 'lru-cache'
import type { Log } from '#lib/log.ts'
import type { Pool } from '#sql/pool.ts'
import { isTrackingHost } from '#sql/tracking/tracking_hosts.ts'

/** A host is looked up again when it is older; nobody waits for that. */
const FRESH_MS = 60_000
const HOSTS = 10_000

export type IsTrackingHost = (host: string) => Promise<boolean>

/** Remembers which hosts are tracking hosts. If that cannot be found out, a host is as it was, and none if it is new. */
export function createIsTrackingHost({ pool, log }: { pool: Pool; log: Log }): IsTrackingHost {
  const hosts = new LRUCache<string, { isOne: boolean }>({
    ...{ maxSize: HOSTS, sizeCalculation: () => 1, ttl: FRESH_MS, allowStale: true, noDeleteOnFetchRejection: true },
    fetchMethod: async host => ({ isOne: await isTrackingHost(pool, host) }),
  })
  return async host => {
    try {
      return (await hosts.forceFetch(host)).isOne
    } catch (error) {
      log.warn({ err: error }, 'it is not known whether a host is a tracking host')
      return false
    }
  }
}
