import Router from '@koa/router'
import { addSuppression, removeSuppression } from '../../flows/change_suppressions.ts'
import { parseAddress } from '../../lib/address.ts'
import { notFound } from '../../lib/errors.ts'
import { newId } from '../../lib/ids.ts'
import { NewSuppression, SuppressionQuery } from '../../lib/new_suppression.ts'
import { simulatedOutcome } from '../../lib/simulator.ts'
import { findSuppression, listSuppressions, type SuppressionRef } from '../../sql/suppressions.ts'
import { fullAccess } from '../auth.ts'
import { readBody } from '../body.ts'
import type { Context, Services, State } from '../context.ts'
import { invalid, parse, parseId, parseOptionalPage, single } from '../parse.ts'

export const suppressions = new Router<State, Services>()

suppressions.post('/suppressions', fullAccess, readBody, async ctx => {
  const { email, ...fields } = parse(NewSuppression, ctx.state.body)
  if (simulatedOutcome(email, ctx.config.SIMULATOR_DOMAIN)) throw invalid('The simulator is never suppressed.')
  const { account_id } = ctx.state.caller
  const row = { account_id, id: newId(), address: email.address, ...fields }
  const { is_new, suppression } = await addSuppression(ctx.pool, row)
  ctx.status = is_new ? 201 : 200
  ctx.body = suppression
})

suppressions.get('/suppressions', fullAccess, async ctx => {
  const given = { email: single(ctx, 'email'), domain: single(ctx, 'domain'), reason: single(ctx, 'reason') }
  const filter = parse(SuppressionQuery, given)
  ctx.body = await listSuppressions(ctx.pool, ctx.state.caller.account_id, filter, parseOptionalPage(ctx))
})

suppressions.get('/suppressions/:id', fullAccess, async ctx => {
  const suppression = await findSuppression(ctx.pool, ctx.state.caller.account_id, parseRef(ctx))
  if (!suppression) throw notFound('Suppression')
  ctx.body = suppression
})

suppressions.delete('/suppressions/:id', fullAccess, async ctx => {
  const id = await removeSuppression(ctx.pool, ctx.state.caller.account_id, parseRef(ctx))
  ctx.body = { object: 'suppression', id, deleted: true }
})

/** An address stands for the one that there may be of it. */
function parseRef(ctx: Context): SuppressionRef {
  const address = parseAddress(ctx.params.id ?? '')
  return address ? { address: address.address } : { id: parseId('Suppression', ctx.params.id) }
}
