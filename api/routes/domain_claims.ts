import Router from '@koa/router'
import { readBody } from '#api/bodies/read_body.ts'
import type { Context, Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { parseId } from '#api/parse.ts'
import { queueClaims } from '#flows/domains/add_check_jobs.ts'
import { claimDomain } from '#flows/domains/claim_domain.ts'
import { NewDomainClaim } from '#lib/domains/new_domain_claim.ts'
import { notFound } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { type DomainClaim, findDomainClaim, isOpenClaim } from '#sql/domains/domain_claims.ts'

export const domainClaims = new Router<State, Services>()

domainClaims.post('/domains/claim', fullAccess, readBody, async ctx => {
  const fields = parse(NewDomainClaim, ctx.state.body)
  const { claim, is_new } = await claimDomain(ctx, ctx.state.caller.account_id, fields)
  ctx.status = is_new ? 201 : 200
  ctx.body = claim
})

domainClaims.get('/domains/:id/claim', fullAccess, async ctx => {
  ctx.body = await requireClaim(ctx)
})

domainClaims.post('/domains/:id/claim/verify', fullAccess, async ctx => {
  const { account_id } = ctx.state.caller
  const claim = await requireClaim(ctx)
  if (isOpenClaim(claim)) await ctx.pool.transaction(tx => queueClaims(tx, [{ account_id, id: claim.id }]))
  ctx.body = claim
})

async function requireClaim(ctx: Context): Promise<DomainClaim> {
  const claim = await findDomainClaim(ctx.pool, ctx.state.caller.account_id, parseId('Domain', ctx.params.id))
  if (!claim) throw notFound('Claim')
  return claim
}
