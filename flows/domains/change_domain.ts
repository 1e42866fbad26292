import type { Brand } from '#lib/domains/brand.ts'
import { type DomainRecord, domainRecords } from '#lib/domains/domain_records.ts'
import { isSendable } from '#lib/domains/domain_status.ts'
import { type DomainChange, findSettingsFault } from '#lib/domains/new_domain.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import type { LockedDomain } from '#sql/domains/columns.ts'
import { listDkimKeys } from '#sql/domains/dkim_keys.ts'
import { deleteStaleChecks } from '#sql/domains/domain_records.ts'
import {
  type DomainSettings,
  lockDomain,
  setDomainPending,
  setDomainStatus,
  updateDomainSettings,
} from '#sql/domains/domains.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { queueVerification } from './add_check_jobs.ts'
import { announceDomains } from './announce_domains.ts'

type Dependencies = { pool: Pool; config: { SERVER_DOMAIN: string } }

/**
 * Changes the settings of a domain. If that changes the records that it must publish, DNS is checked again.
 *
 * @throws {ApiError} 404, or `validation_error` if the settings are not allowed
 */
export async function changeDomain(
  { pool, config }: Dependencies,
  account_id: string,
  id: string,
  change: DomainChange,
): Promise<void> {
  await pool.transaction(async tx => {
    const before = await lockDomain(tx, account_id, id)
    if (!before) throw notFound('Domain')
    const after = { ...before, ...merge(before, change) }
    const why = findSettingsFault(before.name, after)
    if (why) throw new ApiError('validation_error', why)

    const keys = await listDkimKeys(tx, account_id, id)
    const [had, wanted] = [before, after].map(domain => domainRecords(domain, keys, config.SERVER_DOMAIN))
    await updateDomainSettings(tx, account_id, id, after)
    await settleRecords(tx, account_id, { before, after, had, wanted } as Change)
    await announceDomains(tx, 'domain.updated', [{ account_id, id }], config.SERVER_DOMAIN)
  })
}

function merge(before: DomainSettings, { capabilities, ...change }: DomainChange): DomainSettings {
  return {
    capabilities: {
      sending: capabilities?.sending ?? before.capabilities.sending,
      receiving: capabilities?.receiving ?? before.capabilities.receiving,
    },
    open_tracking: change.open_tracking ?? before.open_tracking,
    click_tracking: change.click_tracking ?? before.click_tracking,
    tls: change.tls ?? before.tls,
    custom_return_path: change.custom_return_path ?? before.custom_return_path,
    tracking_subdomain: change.tracking_subdomain === undefined ? before.tracking_subdomain : change.tracking_subdomain,
    postal_address: change.postal_address === undefined ? before.postal_address : change.postal_address,
    brand: mergeBrand(before.brand, change.brand),
  }
}

/** Omitted members stay unchanged; null clears. */
function mergeBrand(before: Brand, change: DomainChange['brand']): Brand {
  if (change === undefined) return before
  if (change === null) return { name: null, color: null, logo_url: null }
  const { name = before.name, color = before.color, logo_url = before.logo_url } = change
  return { name, color, logo_url }
}

type Change = { before: LockedDomain; after: LockedDomain; had: DomainRecord[]; wanted: DomainRecord[] }

async function settleRecords(tx: Tx, account_id: string, change: Change): Promise<void> {
  const { before, had, wanted } = change
  const { id, status } = before
  const added = without(wanted, had)
  if (added.length === 0 && without(had, wanted).length === 0) return
  await deleteStaleChecks(tx, { account_id, domain_id: id }, wanted)
  if (before.is_trusted || status === 'not_started' || status === 'failed') return // no verification was requested

  if (isSendable(status) && isSendingEnabledAgain(change)) await setDomainPending(tx, account_id, id)
  else if (status === 'verified' && added.some(({ purpose }) => purpose === 'feature')) {
    await setDomainStatus(tx, account_id, id, 'partially_verified')
  }
  await queueVerification(tx, [{ account_id, id }])
}

/** Returns true if sending is enabled again: while the domain only received, its keys may never have been published. */
function isSendingEnabledAgain({ before, after }: Change): boolean {
  return before.capabilities.sending === 'disabled' && after.capabilities.sending === 'enabled'
}

function without(records: DomainRecord[], others: DomainRecord[]): DomainRecord[] {
  return records.filter(({ name, type }) => !others.some(other => other.name === name && other.type === type))
}
