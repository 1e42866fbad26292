import type { Middleware } from '#api/context.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import { createRecordHits } from '#flows/tracking/record_hits.ts'
import { createIsTrackingHost } from '#flows/tracking/tracking_hosts.ts'
import { pollPages } from './polls.ts'
import { tlsAsk } from './tls_ask.ts'
import { TrackingPages } from './tracking.ts'
import { onlyPublicPages } from './tracking_hosts.ts'
import { Visits } from './tracking_visits.ts'
import { unsubscribePages } from './unsubscribe.ts'

type PublicPages = {
  /** Pixels and redirects. They are requested most often, and need nothing that is done for other requests. */
  tracking: TrackingPages
  /** The other pages, in the order in which they must be used. */
  pages: Middleware[]
  /** Writes the hits that are not recorded yet. */
  close(): Promise<void>
}

/** Creates the pages for recipients of mail, which need no key. */
export function createPublicPages(foundation: Foundation, readiness: { isStopping: boolean }): PublicPages {
  const { BASE_URL } = foundation.config
  const readTokenKeys = createReadTokenKeys(foundation)
  const hits = createRecordHits(foundation)
  return {
    tracking: new TrackingPages({ readTokenKeys, visits: new Visits(hits, foundation.config), readiness }),
    pages: [
      onlyPublicPages(createIsTrackingHost(foundation), BASE_URL),
      tlsAsk(BASE_URL),
      unsubscribePages(readTokenKeys),
      pollPages(readTokenKeys),
    ],
    async close() {
      // The hits of the last responses are added in the next turn of the event loop.
      await new Promise(resolve => setImmediate(resolve))
      await hits.stop()
    },
  }
}
