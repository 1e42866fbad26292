import { coalesce } from '#lib/async/coalesce.ts'
import type { Pool } from '#sql/pool.ts'
import { type Draft, listStoredEmails } from '#sql/sending/accept/drafts.ts'
import { type AcceptedEmail, acceptEmails, type RefusedEmail } from '../accept_emails.ts'
import type { RequestKey } from '../draft_emails.ts'
import { unavailable } from '../errors.ts'
import { KeysUnderWay } from './keys_under_way.ts'
import { concernsAll, storeTogether } from './store_together.ts'

type Outcome = AcceptedEmail | RefusedEmail

/**
 * Accepts a draft in a commit that concurrent callers share; resolves after the commit. @throws {ApiError} if it cannot
 * be stored now
 */
export type AcceptEmail = (draft: Draft) => Promise<Outcome>

/** Maximum characters of drafts per commit: more would block the event loop. */
const MAX_WEIGHT = 1 << 20
/** Approximate characters of JSON per row, besides text and html. */
const ROW_WEIGHT = 250

/** Ends well before callers time out and then do not know the result of their request. */
const PATIENCE_MS = 5_000
/** A megabyte is stored in a tenth of a second, or in a whole second on a busy system. */
const PATIENCE_MS_PER_MB = 2_000

/**
 * Returns a function that accepts drafts. It refuses a second request with the same key from memory while the first is
 * in progress.
 */
export function createAcceptEmail(pool: Pool): AcceptEmail {
  const underWay = new KeysUnderWay()
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
    concerns_all: concernsAll,
  })

  return draft => underWay.run(draft.account_id, keyOf(draft), () => accept(draft))
}

function keyOf({ route, key, fingerprint }: Draft): RequestKey | null {
  return key === null ? null : { route, key, fingerprint: fingerprint as string }
}

function weightOf({ html, text, subject, headers, tags, attachments, recipients }: Draft): number {
  let length = (html?.length ?? 0) + (text?.length ?? 0) + subject.length
  for (const name in headers) length += headers[name]?.length ?? 0
  return length + ROW_WEIGHT * (1 + tags.length + attachments.length + recipients.length)
}

function acceptTogether(pool: Pool, drafts: Draft[]): Promise<(Outcome | Error)[]> {
  return storeTogether<Draft, Outcome, string>(pool, drafts, {
    store: part => acceptEmails(pool, part),
    find: part => {
      const ids = part.map(({ id }) => id)
      return listStoredEmails(pool, ids)
    },
    outcomeOf: ({ id }, stored) => (stored.includes(id) ? { id, replayed: false } : undefined),
  })
}
