import { ApiError, notFound } from '#lib/errors.ts'
import { lockContacts } from '#sql/contacts/contact_changes.ts'
import { type Pool, sqlState, type Tx } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'

const RETRY_AFTER = { 'retry-after': '2' }

/** SQLSTATE of a lock that was not to be had in time, and of a statement that was canceled for its time. */
const NO_LOCK = '55P03'
const CANCELED = '57014'

/**
 * Runs a transaction that writes contacts of a domain, under the account's contact lock, shared with other such writers.
 *
 * @throws {ApiError} `contacts_busy` if an import holds the lock for 2 s; `contacts_timeout`, with nothing done; 404
 */
export async function writeContacts<T>(
  pool: Pool,
  { account_id, domain_id }: { account_id: string; domain_id: string },
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const run = () =>
    pool.transaction(async tx => {
      if (!(await lockContacts(tx, account_id, domain_id))) throw notFound('Domain')
      return work(tx)
    })
  try {
    return await retryConflicts(run)
  } catch (error) {
    throw contactError(error)
  }
}

function contactError(error: unknown): unknown {
  const options = { headers: RETRY_AFTER, cause: error }
  switch (sqlState(error)) {
    case NO_LOCK:
      return new ApiError(
        'contacts_busy',
        'Another request writes contacts of this account. Retry in a moment.',
        options,
      )
    case CANCELED:
      return contactsTimeout(error)
    default:
      return error
  }
}

/** Thrown in a transaction, it undoes it. */
export function contactsTimeout(cause?: unknown): ApiError {
  return new ApiError(
    'contacts_timeout',
    'The contacts were not stored in time, and nothing was changed. Send fewer of them at a time.',
    { headers: RETRY_AFTER, cause },
  )
}
