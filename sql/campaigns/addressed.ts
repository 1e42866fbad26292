import type { FragmentSqlToken } from '@slonik/sql-tag'
import { RESERVED_ENDINGS, RESERVED_PATTERN } from '#lib/mail/reserved_domains.ts'
import { type Criteria, findsAll } from '#lib/segments/conditions.ts'
import { isInAudience } from '#sql/contacts/contacts.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { isFound, isMember } from '#sql/segments/compile.ts'
import type { PlanHint } from '#sql/segments/plan_hints.ts'
import { findSegment } from '#sql/segments/segments.ts'
import { loadTerms, type Terms } from '#sql/segments/terms.ts'
import { findTopic } from '#sql/topics/topics.ts'
import { cappedFor, type FrequencyCap } from './frequency_cap.ts'

type Named = { domain_id: string; audience_id: string | null; segment_id: string | null; topic_id: string | null }

/** The criteria by which a campaign finds its contacts, with the current state of its segment and topic. */
export type Addressed = {
  account_id: string
  domain_id: string
  audience_id: string | null
  segment: (Criteria & { id: string }) | null
  terms: Terms
  topic: { id: string; default_subscription: 'opt_in' | 'opt_out' } | null
  cap: FrequencyCap
  /** Recipients at this domain are never left out as suppressed or reserved. */
  simulator_domain: string
}

/** Loads the criteria of a campaign; null if the segment or the topic was deleted. */
export async function loadAddressed(
  db: Queryable,
  account_id: string,
  { domain_id, audience_id, segment_id, topic_id, ...cap }: Named & FrequencyCap,
  simulator_domain: string,
): Promise<Addressed | null> {
  const segment = segment_id === null ? null : await findSegment(db, account_id, segment_id)
  const topic = topic_id === null ? null : await findTopic(db, account_id, topic_id)
  if ((segment_id !== null && !segment) || (topic_id !== null && !topic)) return null
  const terms = await loadTerms(db, { account_id, domain_id }, segment ? [segment] : [])
  return { account_id, domain_id, audience_id, segment, terms, topic, cap, simulator_domain }
}

/** Returns a condition on `contacts c`: the contact is in the audience and in the segment. */
export function isAddressed({ account_id, domain_id, audience_id, segment, terms }: Addressed, hint: PlanHint) {
  const inAudience = audience_id === null || audience_id === domain_id ? sql.fragment`true` : isInAudience(audience_id)
  const inSegment =
    segment === null || findsAll(segment)
      ? sql.fragment`true`
      : sql.fragment`(${isFound(segment, terms, hint)} OR ${isMember(segment.id, hint)})`
  return sql.fragment`c.account_id = ${account_id} AND c.domain_id = ${domain_id} AND ${inAudience} AND ${inSegment}`
}

/** Returns an expression on `contacts c`: the reason why the contact is left out, or null. */
export function leftOut({ topic, cap, simulator_domain }: Addressed, hint: PlanHint): FragmentSqlToken {
  const chose = (subscription: string) => sql.fragment`EXISTS (
    SELECT FROM contact_topics t WHERE t.account_id = c.account_id AND t.contact_id = c.id AND t.topic_id = ${topic?.id ?? null}
      AND t.subscription = ${subscription} ${hint})`
  const isOutside =
    topic === null
      ? sql.fragment`false`
      : topic.default_subscription === 'opt_in'
        ? chose('opt_out')
        : sql.fragment`NOT ${chose('opt_in')}`
  const domain = sql.fragment`split_part(c.email, '@', -1)`
  return sql.fragment`CASE
    WHEN c.unsubscribed THEN 'unsubscribed'
    WHEN ${isOutside} THEN 'not_subscribed_to_topic'
    WHEN ${domain} <> ${simulator_domain} AND EXISTS (
      SELECT FROM suppressions s WHERE s.account_id = c.account_id AND s.address = c.email
        AND (s.expires_at IS NULL OR s.expires_at > now()) ${hint}
    ) THEN 'suppressed'
    WHEN c.email LIKE ANY (${sql.array(RESERVED_ENDINGS, 'text')}) AND ${domain} <> ${simulator_domain}
      AND ${domain} ~ ${RESERVED_PATTERN} THEN 'reserved_domain'
    ELSE ${cappedFor(cap, hint)}
  END`
}
