import type { Context } from '#api/context.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { queueClaims } from '#flows/domains/add_check_jobs.ts'
import { claimDomain } from '#flows/domains/claim_domain.ts'
import { NewDomainClaim } from '#lib/domains/new_domain_claim.ts'
import { orNotFound } from '#lib/errors.ts'
import { DomainClaim, findDomainClaim, isOpenClaim } from '#sql/domains/domain_claims.ts'

const params = { id: uuidParam('Domain') }

export const domainClaims = [
  operation('POST /domains/claim', {
    id: 'claimDomain',
    access: 'full',
    summary: 'Claim a domain that another account has verified',
    description: 'Returns the TXT record that proves the claim. A repeated call returns the open claim with 200.',
    body: json(NewDomainClaim),
    answers: { 200: DomainClaim, 201: DomainClaim },
    errors: ['missing_required_field', 'domain_conflict', 'plan_limit_reached'],
  }).handle(async (ctx, { account_id, body }) => {
    const { claim, is_new } = await claimDomain(ctx, account_id, body())
    ctx.status = is_new ? 201 : 200
    return claim
  }),

  operation('GET /domains/:id/claim', {
    id: 'getDomainClaim',
    access: 'full',
    params,
    summary: 'Get the newest claim of a domain',
    answers: { 200: DomainClaim },
  }).handle(async (ctx, { account_id, params: { id } }) => requireClaim(ctx, account_id, id)),

  operation('POST /domains/:id/claim/verify', {
    id: 'verifyDomainClaim',
    access: 'full',
    params,
    summary: 'Check the record of a claim',
    description: 'Starts a check and returns immediately.',
    answers: { 200: DomainClaim },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    const claim = await requireClaim(ctx, account_id, id)
    if (isOpenClaim(claim)) await ctx.pool.transaction(tx => queueClaims(tx, [{ account_id, id: claim.id }]))
    return claim
  }),
]

async function requireClaim(ctx: Context, account_id: string, domain_id: string): Promise<DomainClaim> {
  return orNotFound('Claim', await findDomainClaim(ctx.pool, account_id, domain_id))
}
