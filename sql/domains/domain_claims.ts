import { z } from 'zod'
import { CLAIM_PREFIX } from '#lib/domains/new_domain_claim.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

export const ClaimStatus = z.enum([
  'pending',
  'verified',
  'completed',
  'blocked',
  'expired',
  'superseded',
  'canceled',
  'failed',
])
const BlockedReason = z.enum(['grace_period', 'recent_owner_activity', 'pending_scheduled_emails'])
export type BlockedReason = z.infer<typeof BlockedReason>

/** A claim as the API shows it. */
export const DomainClaim = z
  .object({
    object: z.literal('domain_claim'),
    id: z.string(),
    name: z.string().describe('The domain name.'),
    status: ClaimStatus.describe('`verified`: the record was found. `blocked`: the owner still uses the name.'),
    domain_id: z.string().describe('Id of the domain that gets the name.'),
    region: z.string().describe('Stored as given, without effect.'),
    record: z
      .object({
        type: z.string().describe('Always `TXT`.'),
        name: z.string().describe('Name of the record.'),
        value: z.string().describe('Text of the record.'),
        ttl: z.string().describe('`Auto`: any value.'),
      })
      .describe('The DNS record that proves the claim.'),
    blocked_reason: BlockedReason.nullable().describe('How the owner still uses the name.'),
    failure_reason: z.string().nullable().describe('Why the claim failed.'),
    created_at: z.date(),
    expires_at: z.date().describe('When the claim expires if the record is not found.'),
  })
  .meta({ id: 'DomainClaim' })
export type DomainClaim = z.infer<typeof DomainClaim>

/** Returns true if a claim is not settled yet. */
export function isOpenClaim({ status }: Pick<DomainClaim, 'status'>): boolean {
  return status === 'pending' || status === 'verified' || status === 'blocked'
}

/** Returns the newest claim of a domain. */
export async function findDomainClaim(
  db: Queryable,
  account_id: string,
  domain_id: string,
): Promise<DomainClaim | null> {
  return db.maybeOne(sql.type(DomainClaim)`
    SELECT 'domain_claim' AS object, c.id, d.name, c.status, c.domain_id, d.region,
      jsonb_build_object('type', 'TXT', 'name', d.name, 'value', ${CLAIM_PREFIX} || c.token, 'ttl', 'Auto') AS record,
      c.blocked_reason, c.failure_reason, c.created_at, c.expires_at
    FROM domain_claims c JOIN domains d ON d.account_id = c.account_id AND d.id = c.domain_id
    WHERE c.account_id = ${account_id} AND c.domain_id = ${domain_id} ORDER BY c.id DESC LIMIT 1
  `)
}

export async function insertDomainClaim(
  tx: Tx,
  claim: { account_id: string; id: string; domain_id: string; token: string },
): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO domain_claims (account_id, id, domain_id, token, check_at)
    VALUES (${claim.account_id}, ${claim.id}, ${claim.domain_id}, ${claim.token}, now() + interval '5 minutes')
  `)
}

/** Expires claims that were not proven in time, so that a new one can take their place. */
export async function expireClaims(tx: Tx, account_id: string, domain_id: string): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE domain_claims SET status = 'expired', check_at = NULL
    WHERE account_id = ${account_id} AND domain_id = ${domain_id} AND status = 'pending' AND expires_at <= now()
  `)
}
