import Router from '@koa/router'
import { findDomainWithRecords } from '../../flows/find_domain.ts'
import { rotateDkimKeys } from '../../flows/rotate_dkim_keys.ts'
import { notFound } from '../../lib/errors.ts'
import { fullAccess } from '../auth.ts'
import type { Services, State } from '../context.ts'
import { parseId } from '../parse.ts'

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
