import { ApiError, notFound, orNotFound } from '#lib/errors.ts'
import type { Address } from '#lib/mail/address.ts'
import type { CampaignFields } from '#sql/campaigns/campaigns.ts'
import { findAudience } from '#sql/contacts/audiences.ts'
import { findOwnDomain } from '#sql/domains/own_domains.ts'
import type { Tx } from '#sql/pool.ts'
import { findSegment } from '#sql/segments/segments.ts'
import { findTemplateId } from '#sql/templates/templates.ts'
import { findTopic } from '#sql/topics/topics.ts'

/** The id of the domain of a sender. @throws {ApiError} 422 if it is not one of the account's */
export async function requireSenderDomain(tx: Tx, account_id: string, { domain }: Pick<Address, 'domain'>) {
  const id = await findOwnDomain(tx, account_id, { name: domain })
  if (id !== null) return id
  throw new ApiError('validation_error', `\`from\` must be at one of your domains: ${domain} is not one of them.`)
}

type Named = Pick<CampaignFields, 'domain_id' | 'audience_id' | 'segment_id' | 'topic_id'>

type GivenGroups = { audience_id?: string | null | undefined; segment_id?: string | null | undefined }

/** Reads a segment that is named as an audience, as the `resend` package does. Beside another segment it stays what it is. */
export async function readAudience<Given extends GivenGroups>(
  tx: Tx,
  account_id: string,
  given: Given,
): Promise<Given> {
  const { audience_id: id, segment_id } = given
  if (!id || (segment_id ?? id) !== id || (await findAudience(tx, account_id, id))) return given
  return (await findSegment(tx, account_id, id)) ? { ...given, audience_id: null, segment_id: id } : given
}

/** Checks what a campaign names: its audience, its segment and its topic. @throws {ApiError} 404; 422 for another domain's */
export async function requireGroups(tx: Tx, account_id: string, named: Named): Promise<void> {
  const { domain_id, audience_id, segment_id, topic_id } = named
  if (audience_id !== null) {
    const audience = orNotFound('Audience', await findAudience(tx, account_id, audience_id))
    requireDomain('audience_id', audience.domain_id, domain_id)
  }
  if (segment_id !== null) {
    const segment = orNotFound('Segment', await findSegment(tx, account_id, segment_id))
    requireDomain('segment_id', segment.audience_id, domain_id)
  }
  if (topic_id !== null) {
    const topic = orNotFound('Topic', await findTopic(tx, account_id, topic_id))
    requireDomain('topic_id', topic.domain_id ?? domain_id, domain_id)
  }
}

function requireDomain(field: string, found: string, domain_id: string): void {
  if (found !== domain_id) throw new ApiError('validation_error', `\`${field}\` must be of the domain of \`from\`.`)
}

/** The id of a template by its id or alias. @throws {ApiError} 404 */
export async function requireTemplateId(tx: Tx, account_id: string, ref: string | null): Promise<string | null> {
  if (ref === null) return null
  const id = await findTemplateId(tx, account_id, ref)
  if (id === null) throw notFound('Template')
  return id
}
