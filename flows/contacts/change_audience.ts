import { refuseUsed } from '#flows/domains/removal/refuse_used.ts'
import { ApiError, notFound, orNotFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import {
  type Audience,
  deleteAudience,
  findAudience,
  insertAudience,
  lockAudience,
  updateAudience,
} from '#sql/contacts/audiences.ts'
import { addJob } from '#sql/jobs.ts'
import type { Pool } from '#sql/pool.ts'
import { refuseDeletedDomain, refuseDuplicate } from '#sql/retry.ts'

const NAME_TAKEN = '`name` is used by another audience of the domain.'

/** Adds an audience to a domain. @throws {ApiError} 404 for the domain; 409 if it has one of this name */
export async function createAudience(
  pool: Pool,
  audience: { account_id: string; domain_id: string; name: string },
): Promise<Audience> {
  const { account_id } = audience
  const id = newId()
  await insertAudience(pool, { ...audience, id })
    .catch(refuseDeletedDomain)
    .catch(refuseDuplicate(NAME_TAKEN))
  return orNotFound('Audience', await findAudience(pool, account_id, id))
}

/** Renames an audience. @throws {ApiError} 404; 409 if the domain has another of this name */
export async function renameAudience(pool: Pool, account_id: string, id: string, name: string): Promise<void> {
  const count = await updateAudience(pool, account_id, id, name).catch(refuseDuplicate(NAME_TAKEN))
  if (count === 0) throw notFound('Audience')
}

/** Deletes an audience; its contacts stay on the domain. @throws {ApiError} 404; 422 for the default audience, or if a campaign uses it */
export async function removeAudience(pool: Pool, account_id: string, id: string): Promise<void> {
  const { domain_id } = orNotFound('Audience', await findAudience(pool, account_id, id))
  if (domain_id === id) {
    throw new ApiError('validation_error', 'The default audience of a domain cannot be deleted.')
  }
  await pool.transaction(async tx => {
    await lockAudience(tx, account_id, id)
    await refuseUsed(tx, account_id, 'audience', id)
    if ((await deleteAudience(tx, account_id, id)) === 0) throw notFound('Audience')
    await addJob(tx, 'remove_leftovers', { account_id, of: 'audience', id })
  })
}
