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

/** Stores an event in a commit shared with whoever else is waiting; returns after it. @throws {ApiError} if it cannot be stored now */
export type IngestEvent = (draft: EventDraft) => Promise<Ingestion>

/** Events of one commit weigh at most this many characters of JSON. */
const MAX_WEIGHT = 1 << 20
/** About how many characters of JSON an event takes besides its payload. */
const ROW_WEIGHT = 300
/** Well before callers give up, who would then not know what became of their request. */
const PATIENCE_MS = 5_000

/**
 * A process has one: it gathers all events of the moment. Those of contacts whose runs are being advanced go together with others
 * of the kind: one contact with a thousand events a second would otherwise have all wait for the steps of its runs.
 */
export function createIngestEvent(pool: Pool): IngestEvent {
  const [ingest, ingestPatiently] = [false, true].map(is_patient =>
    coalesce<EventDraft, Ingestion>(drafts => ingestTogether(pool, drafts, is_patient), {
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
    return ingestion.outcome === 'busy' ? ingestPatiently(draft) : ingestion
  }
}

function ingestTogether(pool: Pool, drafts: EventDraft[], is_patient: boolean): Promise<(Ingestion | Error)[]> {
  return storeTogether<EventDraft, Ingestion, FoundEvent>(pool, drafts, {
    store: part => ingestEvents(pool, part, is_patient),
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
