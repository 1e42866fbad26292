import { announceDomains } from '#flows/domains/announce_domains.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import { deleteAutomations, hasAutomations, lockAutomationsOf } from '#sql/domains/automation_usages.ts'
import { hasCampaigns } from '#sql/domains/campaign_usages.ts'
import { deleteDomain, lockDomain } from '#sql/domains/domains.ts'
import { hasContacts } from '#sql/domains/own_domains.ts'
import { addJob } from '#sql/jobs.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'

type Dependencies = { pool: Pool; config: { SERVER_DOMAIN: string } }

/**
 * Deletes a domain; mail that it sent is kept. Its contacts, campaigns and automations disappear at once, and a job
 * removes their rows.
 *
 * @throws {ApiError} 404; `reputation_paused`; 422 if it has any of these and `with_contacts` is false
 */
export async function removeDomain(
  { pool, config }: Dependencies,
  account_id: string,
  id: string,
  with_contacts: boolean,
): Promise<void> {
  const remove = async (tx: Tx) => {
    // Workers lock automations before the domain too. Without this, a busy automation would deadlock with each deletion.
    if (with_contacts) await lockAutomationsOf(tx, account_id, id)
    if (!(await lockDomain(tx, account_id, id))) throw notFound('Domain')
    await announceDomains(tx, 'domain.deleted', [{ account_id, id }], config.SERVER_DOMAIN)
    if (!(await deleteDomain(tx, account_id, id))) throw paused()
    // Checked here, because the deletion has waited for all writers of contacts of the domain.
    if (!with_contacts && (await hasContacts(tx, account_id, id))) {
      throw new ApiError(
        'validation_error',
        'The domain has contacts: add `?with_contacts=true` to delete them with it.',
      )
    }
    if (!with_contacts && (await hasCampaigns(tx, account_id, id))) {
      throw new ApiError(
        'validation_error',
        'The domain has campaigns: add `?with_contacts=true` to delete them with it.',
      )
    }
    if (!with_contacts && (await hasAutomations(tx, account_id, id))) {
      throw new ApiError(
        'validation_error',
        'The domain has automations: add `?with_contacts=true` to delete them with it.',
      )
    }
    await addJob(tx, 'remove_leftovers', { account_id, of: 'domain', id })
    if ((await deleteAutomations(tx, account_id, id)) > 0) await addJob(tx, 'clear_runs', {}, 'clear_runs')
  }
  await retryConflicts(() => pool.transaction(remove))
}

/** Prevents the deletion of a paused domain: added again, it would no longer be paused. */
function paused(): ApiError {
  return new ApiError(
    'reputation_paused',
    'Sending is paused for this domain: it cannot be deleted until sending is resumed.',
  )
}
