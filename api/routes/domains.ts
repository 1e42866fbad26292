import Router from '@koa/router'
import { readBody } from '#api/bodies/read_body.ts'
import type { Context, Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { parseId, parseOptionalPage } from '#api/parse.ts'
import { changeDomain } from '#flows/domains/change_domain.ts'
import { createDomain } from '#flows/domains/create_domain.ts'
import { findDomainWithRecords } from '#flows/domains/find_domain.ts'
import { removeDomain } from '#flows/domains/remove_domain.ts'
import { requestVerification } from '#flows/domains/request_verification.ts'
import { DomainChange, NewDomain } from '#lib/domains/new_domain.ts'
import { notFound } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import type { ListedDomain } from '#sql/domains/columns.ts'
import { findDomain, listDomains } from '#sql/domains/domains.ts'

export const domains = new Router<State, Services>()

domains.post('/domains', fullAccess, readBody, async ctx => {
  const { account_id } = ctx.state.caller
  const { capabilities, ...fields } = parse(NewDomain, ctx.state.body)
  const { id } = await createDomain(ctx, {
    ...fields,
    account_id,
    is_trusted: false,
    sending: capabilities?.sending !== 'disabled',
    receiving: capabilities?.receiving === 'enabled',
  })
  ctx.status = 201
  ctx.body = await findDomainWithRecords(ctx.pool, account_id, id, ctx.config.SERVER_DOMAIN)
})

domains.get('/domains', fullAccess, async ctx => {
  ctx.body = await listDomains(ctx.pool, ctx.state.caller.account_id, parseOptionalPage(ctx))
})

domains.get('/domains/:id', fullAccess, async ctx => {
  const { account_id } = ctx.state.caller
  const id = parseId('Domain', ctx.params.id)
  const domain = await findDomainWithRecords(ctx.pool, account_id, id, ctx.config.SERVER_DOMAIN)
  if (!domain) throw notFound('Domain')
  ctx.body = domain
})

domains.patch('/domains/:id', fullAccess, readBody, async ctx => {
  const { id } = await requireDomain(ctx)
  await changeDomain(ctx, ctx.state.caller.account_id, id, parse(DomainChange, ctx.state.body))
  ctx.body = { object: 'domain', id }
})

domains.delete('/domains/:id', fullAccess, async ctx => {
  const id = parseId('Domain', ctx.params.id)
  await removeDomain(ctx, ctx.state.caller.account_id, id)
  ctx.body = { object: 'domain', id, deleted: true }
})

domains.post('/domains/:id/verify', fullAccess, async ctx => {
  const id = parseId('Domain', ctx.params.id)
  const status = await requestVerification(ctx, ctx.state.caller.account_id, id)
  ctx.body = { object: 'domain', id, status }
})

/** That it is there is told before anything about the body. */
export async function requireDomain(ctx: Context): Promise<ListedDomain> {
  const domain = await findDomain(ctx.pool, ctx.state.caller.account_id, parseId('Domain', ctx.params.id))
  if (!domain) throw notFound('Domain')
  return domain
}
