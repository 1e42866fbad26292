import Router from '@koa/router'
import type { Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { parseId } from '#api/parse.ts'
import { findDomainWithRecords } from '#flows/domains/find_domain.ts'
import { rotateDkimKeys } from '#flows/domains/rotate_dkim_keys.ts'
import { notFound } from '#lib/errors.ts'

export const domainDkim = new Router<State, Services>()

/** Answers the domain with the records of its next keys; asked for again, with the same ones, until they sign. */
domainDkim.post('/domains/:id/dkim/rotate', fullAccess, async ctx => {
  const { account_id } = ctx.state.caller
  const id = parseId('Domain', ctx.params.id)
  await rotateDkimKeys(ctx, { account_id, domain_id: id }, 'owner')
  const domain = await findDomainWithRecords(ctx.pool, account_id, id, ctx.config.SERVER_DOMAIN)
  if (!domain) throw notFound('Domain')
  ctx.body = domain
})
