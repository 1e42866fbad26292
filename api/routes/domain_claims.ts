import Router from '@koa/router'
import { claimDomain } from '../../flows/claim_domain.ts'
import { queueClaims } from '../../flows/queue_checks.ts'
import { notFound } from '../../lib/errors.ts'
import { NewDomainClaim } from '../../lib/new_domain_claim.ts'
import { type DomainClaim, findDomainClaim, isOpenClaim } from '../../sql/domain_claims.ts'
import { fullAccess } from '../auth.ts'
import { readBody } from '../body.ts'
import type { Context, Services, State } from '../context.ts'
import { parse, parseId } from '../parse.ts'

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
