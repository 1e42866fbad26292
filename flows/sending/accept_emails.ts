import { isAway, readBack } from '#flows/process/read_back.ts'
import { coalesce } from '#lib/async/coalesce.ts'
import { ApiError } from '#lib/errors.ts'
import { NoAnswerError, type Pool, type Queryable } from '#sql/pool.ts'
import { isRefusedData, retryConflicts, splitOnRefusal } from '#sql/retry.ts'
import { type Accepted, type Draft, insertEmails, listStoredEmails } from '#sql/sending/accept/drafts.ts'
import { faultError } from './fault_errors.ts'

export type AcceptedEmail = { id: string; replayed: boolean }
export type AcceptEmail = (draft: Draft) => Promise<AcceptedEmail>

/**
 * Accepts drafts in the transaction of `db`: each gets its answer, or the ApiError that its caller alone is told.
 * Callers without a transaction of their own use `createAcceptEmail`.
 */
export async function acceptEmails(db: Queryable, drafts: Draft[]): Promise<(AcceptedEmail | Error)[]> {
  const rows = await insertEmails(db, drafts)
  return drafts.map((draft, position) => answer(rows[position] as Accepted, draft))
}

function answer({ outcome, answer, retry_after, detail }: Accepted, draft: Draft): AcceptedEmail | ApiError {
  switch (outcome) {
    case 'accepted':
    case 'replayed':
      return { id: (answer as { id: string }).id, replayed: outcome === 'replayed' }
    case 'key_conflict':
      return keyConflict()
    default:
      return faultError(outcome, draft, { retry_after, ...detail })
  }
}

export function keyConflict(): ApiError {
  return new ApiError('invalid_idempotent_request', 'This idempotency key was used with another payload.')
}

/** Drafts of one commit weigh at most this many characters: more would hold up the event loop. */
const MAX_WEIGHT = 1 << 20
/** About how many characters of JSON a row takes besides text and html. */
const ROW_WEIGHT = 250

/** Well before callers give up, who would then not know what became of their request. */
const PATIENCE_MS = 5_000
/** A megabyte is stored in a tenth of a second, or in a whole one where much else goes on. */
const PATIENCE_MS_PER_MB = 2_000

/**
 * Accepts one email in a commit shared with whoever else is waiting, and answers after it. A second request with the
 * same key while the first is under way is refused from memory.
 */
export function createAcceptEmail(pool: Pool): AcceptEmail {
  const underWay = new Map<string, string>()
  const accept = coalesce<Draft, AcceptedEmail>(drafts => acceptOnce(pool, drafts), {
    in_flight: 1,
    max_items: 50,
    max_weight: MAX_WEIGHT,
    weigh: weightOf,
    patience: {
      ms: PATIENCE_MS,
      ms_per_weight: PATIENCE_MS_PER_MB / (1 << 20),
      error: () => unavailable(new Error('too many requests wait for their commit')),
    },
    // Postgres was away for longer than two seconds: whoever waits has waited too.
    concerns_all: error => error instanceof ApiError && isAway(error.cause),
  })

  return async draft => {
    if (draft.key === null) return accept(draft)
    const name = JSON.stringify([draft.account_id, draft.route, draft.key])
    const other = underWay.get(name)
    if (other !== undefined) throw other === draft.fingerprint ? concurrent() : keyConflict()
    underWay.set(name, draft.fingerprint as string)
    try {
      return await accept(draft)
    } finally {
      underWay.delete(name)
    }
  }
}

function weightOf({ html, text, subject, headers, tags, attachments, recipients }: Draft): number {
  let length = (html?.length ?? 0) + (text?.length ?? 0) + subject.length
  for (const name in headers) length += headers[name]?.length ?? 0
  return length + ROW_WEIGHT * (1 + tags.length + attachments.length + recipients.length)
}

export function concurrent(): ApiError {
  const message = 'A request with this idempotency key is still in progress.'
  return new ApiError('concurrent_idempotent_requests', message, { headers: { 'retry-after': '1' } })
}

/** What Postgres refuses is split until it stands alone; each part that is tried has an outcome of its own. */
function acceptOnce(pool: Pool, drafts: Draft[]): Promise<(AcceptedEmail | Error)[]> {
  return splitOnRefusal<Draft, AcceptedEmail>(drafts, part => acceptPart(pool, part))
}

/** Throws only when Postgres refuses the data: an earlier part may be stored, and its callers must be told so. */
async function acceptPart(pool: Pool, drafts: Draft[]): Promise<(AcceptedEmail | Error)[]> {
  try {
    return await retryConflicts(() => acceptEmails(pool, drafts))
  } catch (error) {
    if (isRefusedData(error)) throw error
    if (!(error instanceof NoAnswerError)) return drafts.map(() => unavailable(error))
    // Without an answer the commit may have happened: it is read back, and never inserted again.
    const ids = drafts.map(draft => draft.id)
    const stored = await readBack(pool, error, () => listStoredEmails(pool, ids)).catch(unavailable)
    if (stored instanceof ApiError) return drafts.map(() => stored)
    return drafts.map(({ id }) => (stored.includes(id) ? { id, replayed: false } : unavailable(error)))
  }
}

export function unavailable(cause: unknown): ApiError {
  const message = 'The request could not be stored in time. Retry it: with an idempotency key, nothing is sent twice.'
  return new ApiError('sending_service_unavailable', message, { headers: { 'retry-after': '5' }, cause })
}
