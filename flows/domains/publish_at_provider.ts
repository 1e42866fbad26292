import { z } from 'zod'
import type { Foundation } from '#flows/process/run_process.ts'
import type { DomainRecord } from '#lib/domains/domain_records.ts'
import { DomainStatus } from '#lib/domains/domain_status.ts'
import { Applied, applyRecords } from '#lib/domains/providers/apply.ts'
import { createProviderClient, type ProviderClient, wordsOf } from '#lib/domains/providers/ask.ts'
import { ProviderError } from '#lib/domains/providers/provider_error.ts'
import type { ProviderZone } from '#lib/domains/providers/zone.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import { FetchError, fetchPolicy } from '#lib/net/fetch_safely.ts'
import { findZoneRecords } from './find_domain.ts'
import { requestVerification, requireVerifiable } from './request_verification.ts'

/** A provider, and how to open the zone of a domain there. `secrets`: removed from its messages. */
export type DnsHelper = {
  provider: string
  url: string
  secrets: string[]
  open: (ask: ProviderClient, domain: string) => ProviderZone | Promise<ProviderZone>
}

/** The result for each record, and the status of the domain. */
export const DnsResult = Applied.extend({
  object: z.literal('domain_dns_result'),
  id: z.string(),
  provider: z.string().describe('Where the records were written.'),
  status: DomainStatus.describe('Its status while it is checked.'),
}).meta({ id: 'DnsResult' })
export type DnsResult = z.infer<typeof DnsResult>

/** Time limit from the first request to the last response. */
const DEADLINE_MS = 20_000

type Dependencies = Pick<Foundation, 'pool' | 'config' | 'log'>

/**
 * Writes the records of a domain into its zone at a provider, with credentials that are used once; then requests a
 * verification.
 *
 * @throws {ApiError} 404; `validation_error` with the message of the provider; the errors of a verification
 */
export async function applyDns(
  deps: Dependencies,
  account_id: string,
  id: string,
  helper: DnsHelper,
): Promise<DnsResult> {
  const found = await findZoneRecords(deps.pool, account_id, id, deps.config.SERVER_DOMAIN)
  if (!found) throw notFound('Domain')
  const { domain, records } = found
  await requireVerifiable(deps.pool, account_id, domain)
  const applied = await applyAt(deps, helper, domain.name, records)
  const status = await requestVerification(deps, account_id, id)
  return { object: 'domain_dns_result', id, provider: helper.provider, ...applied, status }
}

async function applyAt(
  { config, log }: Dependencies,
  { provider, url, secrets, open }: DnsHelper,
  domain: string,
  records: DomainRecord[],
): Promise<Applied> {
  const clean = ({ message, ...named }: Applied['failed'][number]) => ({ ...named, message: wordsOf(message, secrets) })
  try {
    const ask = createProviderClient({ provider, url, policy: fetchPolicy(config) }, AbortSignal.timeout(DEADLINE_MS))
    const { applied, skipped, failed } = await applyRecords(await open(ask, domain), records)
    return { applied, skipped: skipped.map(clean), failed: failed.map(clean) }
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    if (error.cause instanceof FetchError)
      log.warn({ provider, detail: error.cause.detail }, 'a DNS provider could not be reached')
    // The cause is left out, since it may repeat the request.
    throw new ApiError('validation_error', wordsOf(error.message, secrets))
  }
}
