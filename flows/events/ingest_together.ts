import { isAway, readBack } from '#flows/process/read_back.ts'
import { unavailable } from '#flows/sending/errors.ts'
import { coalesce } from '#lib/async/coalesce.ts'
import { ApiError } from '#lib/errors.ts'
import { type EventDraft, type Ingestion, ingestEvents, listIngested } from '#sql/events/contact_events.ts'
import { NoAnswerError, type Pool } from '#sql/pool.ts'
import { isRefusedData, retryConflicts, splitOnRefusal } from '#sql/retry.ts'

/** Stores an event in a commit shared with whoever else is waiting; returns after it. @throws {ApiError} if it cannot be stored now */
export type IngestEvent = (draft: EventDraft) => Promise<Ingestion>

/** Events of one commit weigh at most this many characters of JSON. */
const MAX_WEIGHT = 1 << 20
/** About how many characters of JSON an event takes besides its payload. */
const ROW_WEIGHT = 300
/** Well before callers give up, who would then not know what became of their request. */
const PATIENCE_MS = 5_000

/** A process has one: it gathers all events of the moment. */
export function createIngestEvent(pool: Pool): IngestEvent {
  return coalesce<EventDraft, Ingestion>(drafts => splitOnRefusal(drafts, part => ingestPart(pool, part)), {
    in_flight: 1,
    max_items: 200,
    max_weight: MAX_WEIGHT,
    weigh: ({ payload }) => JSON.stringify(payload).length + ROW_WEIGHT,
    patience: { ms: PATIENCE_MS, error: () => unavailable(new Error('too many events wait for their commit')) },
    concerns_all: error => error instanceof ApiError && isAway(error.cause),
  })
}

/** Throws only when Postgres refuses the data: an earlier part may be stored, and its callers must be told so. */
async function ingestPart(pool: Pool, drafts: EventDraft[]): Promise<(Ingestion | Error)[]> {
  try {
    return await retryConflicts(() => ingestEvents(pool, drafts))
  } catch (error) {
    if (isRefusedData(error)) throw error
    if (!(error instanceof NoAnswerError)) return drafts.map(() => unavailable(error))
    return readBackEvents(pool, drafts, error)
  }
}

/** Without an answer the commit may have happened: it is looked up, and never made again. */
async function readBackEvents(pool: Pool, drafts: EventDraft[], lost: NoAnswerError): Promise<(Ingestion | Error)[]> {
  const accounts = [...new Set(drafts.map(({ account_id }) => account_id))]
  const tails = drafts.map(({ tail }) => tail)
  const found = await readBack(pool, lost, () => listIngested(pool, accounts, tails)).catch(unavailable)
  if (found instanceof ApiError) return drafts.map(() => found)
  return drafts.map(({ tail }) => {
    const event = found.find(each => each.tail === tail)
    if (!event) return unavailable(lost)
    const { id, contact_id, enrolled } = event
    return { outcome: 'stored', answer: { id, contact_id, enrolled } }
  })
}
