import { isAway, readBack } from '#flows/process/read_back.ts'
import { coalesce } from '#lib/async/coalesce.ts'
import { ApiError } from '#lib/errors.ts'
import { NoAnswerError, type Pool } from '#sql/pool.ts'
import { isRefusedData, retryConflicts, splitOnRefusal } from '#sql/retry.ts'
import { type Draft, listStoredEmails } from '#sql/sending/accept/drafts.ts'
import { type AcceptedEmail, acceptEmails, type RefusedEmail } from './accept_emails.ts'
import { concurrent, keyConflict, unavailable } from './errors.ts'

type Outcome = AcceptedEmail | RefusedEmail

/** Accepts a draft in a commit shared with whoever else is waiting; returns after it. @throws {ApiError} if it cannot be stored now */
export type AcceptEmail = (draft: Draft) => Promise<Outcome>

/** Drafts of one commit weigh at most this many characters: more would hold up the event loop. */
const MAX_WEIGHT = 1 << 20
/** About how many characters of JSON a row takes besides text and html. */
const ROW_WEIGHT = 250

/** Well before callers give up, who would then not know what became of their request. */
const PATIENCE_MS = 5_000
/** A megabyte is stored in a tenth of a second, or in a whole one where much else goes on. */
const PATIENCE_MS_PER_MB = 2_000

/** A second request with the same key while the first is under way is refused from memory. */
export function createAcceptEmail(pool: Pool): AcceptEmail {
  const underWay = new Map<string, string>()
  const accept = coalesce<Draft, Outcome>(drafts => acceptTogether(pool, drafts), {
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

/** Splits drafts that Postgres refuses until the culprit stands alone; each part that is tried has an outcome of its own. */
function acceptTogether(pool: Pool, drafts: Draft[]): Promise<(Outcome | Error)[]> {
  return splitOnRefusal<Draft, Outcome>(drafts, part => acceptPart(pool, part))
}

/** Throws only when Postgres refuses the data: an earlier part may be stored, and its callers must be told so. */
async function acceptPart(pool: Pool, drafts: Draft[]): Promise<(Outcome | Error)[]> {
  try {
    return await retryConflicts(() => acceptEmails(pool, drafts))
  } catch (error) {
    if (isRefusedData(error)) throw error
    if (!(error instanceof NoAnswerError)) return drafts.map(() => unavailable(error))
    return readBackEmails(pool, drafts, error)
  }
}

/** Without an answer the commit may have happened: it is looked up, and never inserted again. */
async function readBackEmails(pool: Pool, drafts: Draft[], lost: NoAnswerError): Promise<(Outcome | Error)[]> {
  const ids = drafts.map(draft => draft.id)
  const stored = await readBack(pool, lost, () => listStoredEmails(pool, ids)).catch(unavailable)
  if (stored instanceof ApiError) return drafts.map(() => stored)
  return drafts.map(({ id }) => (stored.includes(id) ? { id, replayed: false } : unavailable(lost)))
}
