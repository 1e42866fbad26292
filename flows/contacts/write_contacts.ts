import { ApiError, notFound, orNotFound } from '#lib/errors.ts'
import { type LockedContact, lockContact, lockContacts } from '#sql/contacts/contact_changes.ts'
import { type ContactRef, findContactIds } from '#sql/contacts/contacts.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { isLockTimeout, isStatementTimeout, retryConflicts } from '#sql/retry.ts'

const RETRY_AFTER = { 'retry-after': '2' }

/**
 * Runs a transaction that writes contacts of a domain, with a shared lock on the contacts of the account.
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
    if (isLockTimeout(error)) throw contactsBusy(error)
    throw isStatementTimeout(error) ? contactsTimeout(error) : error
  }
}

/** As `writeContacts`, for one existing contact, which is locked until the transaction ends. */
export async function writeContact<T>(
  pool: Pool,
  account_id: string,
  ref: ContactRef,
  work: (tx: Tx, contact: LockedContact) => Promise<T>,
): Promise<T> {
  const { domain_id } = orNotFound('Contact', await findContactIds(pool, account_id, ref))
  return writeContacts(pool, { account_id, domain_id }, async tx => {
    return work(tx, orNotFound('Contact', await lockContact(tx, account_id, ref)))
  })
}

function contactsBusy(cause: unknown): ApiError {
  const message = 'Another request writes contacts of this account. Retry in a moment.'
  return new ApiError('contacts_busy', message, { headers: RETRY_AFTER, cause })
}

/** Must be thrown inside the transaction, so that it is rolled back. */
export function contactsTimeout(cause?: unknown): ApiError {
  const message = 'The contacts were not stored in time, and nothing was changed. Send fewer of them at a time.'
  return new ApiError('contacts_timeout', message, { headers: RETRY_AFTER, cause })
}
