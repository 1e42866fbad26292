import { unavailable } from '#flows/sending/errors.ts'
import { concernsAll, storeTogether } from '#flows/sending/together/store_together.ts'
import { coalesce } from '#lib/async/coalesce.ts'
import {
  type EventDraft,
  type FoundEvent,
  type Ingestion,
  ingestEvents,
  listIngested,
} from '#sql/events/contact_events.ts'
import type { Pool } from '#sql/pool.ts'

/**
 * Stores an event in a commit that concurrent callers share; resolves after the commit. @throws {ApiError} if it cannot
 * be stored now
 */
export type IngestEvent = (draft: EventDraft) => Promise<Ingestion>

/** Maximum characters of JSON per commit. */
const MAX_WEIGHT = 1 << 20
/** Approximate characters of JSON per event, besides its payload. */
const ROW_WEIGHT = 300
/** Ends well before callers time out and then do not know the result of their request. */
const PATIENCE_MS = 5_000

/**
 * Combines concurrent events of this process into shared commits; a process has one. Events of contacts whose runs are
 * being advanced are combined separately: otherwise one contact with a thousand events per second would make all others
 * wait for the steps of its runs.
 */
export function createIngestEvent(pool: Pool): IngestEvent {
  const [ingest, ingestWithWaits] = [false, true].map(waits_for_locks =>
    coalesce<EventDraft, Ingestion>(drafts => ingestTogether(pool, drafts, waits_for_locks), {
      in_flight: 1,
      max_items: 200,
      max_weight: MAX_WEIGHT,
      weigh: ({ payload }) => JSON.stringify(payload).length + ROW_WEIGHT,
      patience: { ms: PATIENCE_MS, error: () => unavailable(new Error('too many events wait for their commit')) },
      concerns_all: concernsAll,
    }),
  ) as [IngestEvent, IngestEvent]
  return async draft => {
    const ingestion = await ingest(draft)
    return ingestion.outcome === 'busy' ? ingestWithWaits(draft) : ingestion
  }
}

function ingestTogether(pool: Pool, drafts: EventDraft[], waits_for_locks: boolean): Promise<(Ingestion | Error)[]> {
  return storeTogether<EventDraft, Ingestion, FoundEvent>(pool, drafts, {
    store: part => ingestEvents(pool, part, waits_for_locks),
    find: part => {
      const accounts = new Set(part.map(({ account_id }) => account_id))
      const tails = part.map(({ tail }) => tail)
      return listIngested(pool, [...accounts], tails)
    },
    outcomeOf: (draft, found) => {
      const event = found.find(({ tail }) => tail === draft.tail)
      if (!event) return undefined
      const { id, contact_id, enrolled } = event
      return { outcome: 'stored', answer: { id, contact_id, enrolled } }
    },
  })
}
