import { ApiError, notFound } from '#lib/errors.ts'
import type { Address } from '#lib/mail/address.ts'
import type { CampaignFields } from '#sql/campaigns/campaigns.ts'
import { findAudience } from '#sql/contacts/audiences.ts'
import { findOwnDomain } from '#sql/domains/own_domains.ts'
import type { Queryable, Tx } from '#sql/pool.ts'
import { findSegment } from '#sql/segments/segments.ts'
import { findTemplateId } from '#sql/templates/templates.ts'
import { findTopic } from '#sql/topics/topics.ts'

/** Returns the id of the domain of a sender. @throws {ApiError} 422 if it is not a domain of the account */
export async function requireSenderDomain(tx: Tx, account_id: string, { domain }: Pick<Address, 'domain'>) {
  const id = await findOwnDomain(tx, account_id, { name: domain })
  if (id !== null) return id
  throw new ApiError('validation_error', `\`from\` must be at one of your domains: ${domain} is not one of them.`)
}

type Named = Pick<CampaignFields, 'domain_id' | 'audience_id' | 'segment_id' | 'topic_id'>

type GivenGroups = { [Field in 'audience_id' | 'segment_id' | 'topic_id']?: string | null | undefined }

/**
 * Moves the id of a segment from `audience_id` to `segment_id`: the `resend` package sends it as an audience. Changes
 * nothing if `segment_id` names another segment.
 */
export async function readAudience<Given extends GivenGroups>(
  tx: Tx,
  account_id: string,
  given: Given,
): Promise<Given> {
  const { audience_id: id, segment_id } = given
  if (!id || (segment_id ?? id) !== id || (await findAudience(tx, account_id, id))) return given
  return (await findSegment(tx, account_id, id)) ? { ...given, audience_id: null, segment_id: id } : given
}

/**
 * Checks the audience, the segment and the topic of a campaign. Those that `given` leaves out may have been deleted.
 *
 * @throws {ApiError} 404; 422 if one is of another domain
 */
export async function requireGroups(tx: Tx, account_id: string, named: Named, given: GivenGroups): Promise<void> {
  const { domain_id, audience_id, segment_id, topic_id } = named
  const audience = audience_id === null ? null : await findAudience(tx, account_id, audience_id)
  const segment = segment_id === null ? null : await findSegment(tx, account_id, segment_id)
  const topic = topic_id === null ? null : await findTopic(tx, account_id, topic_id)
  if (given.audience_id && !audience) throw notFound('Audience')
  if (given.segment_id && !segment) throw notFound('Segment')
  if (given.topic_id && !topic) throw notFound('Topic')
  requireDomain('audience_id', audience?.domain_id, domain_id)
  requireDomain('segment_id', segment?.audience_id, domain_id)
  requireDomain('topic_id', topic?.domain_id, domain_id)
}

/** @param found the domain of what a field names; missing if it names nothing or is of every domain */
function requireDomain(field: string, found: string | null | undefined, domain_id: string): void {
  if (!found || found === domain_id) return
  throw new ApiError('validation_error', `\`${field}\` must belong to the domain of \`from\`.`)
}

/** Returns the id of a template that is given by its id or alias. @throws {ApiError} 404 */
export async function requireTemplateId(db: Queryable, account_id: string, ref: string | null): Promise<string | null> {
  if (ref === null) return null
  const id = await findTemplateId(db, account_id, ref)
  if (id === null) throw notFound('Template')
  return id
}
