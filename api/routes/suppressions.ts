import Router from '@koa/router'
import { readBody } from '#api/bodies/read_body.ts'
import type { Context, Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { invalid, parseId, parseOptionalPage, single } from '#api/parse.ts'
import { addSuppressions, removeSuppression, removeSuppressions } from '#flows/suppressions/change_suppressions.ts'
import { notFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { parse } from '#lib/json/parse.ts'
import { type Address, parseAddress } from '#lib/mail/address.ts'
import { simulatedOutcome } from '#lib/mail/simulator.ts'
import {
  AddedAddresses,
  NewSuppression,
  RemovedSuppressions,
  SuppressionQuery,
} from '#lib/suppressions/new_suppression.ts'
import type { AddedSuppression } from '#sql/suppressions/suppression_changes.ts'
import { findSuppression, listSuppressions, type SuppressionRef } from '#sql/suppressions/suppressions.ts'

export const suppressions = new Router<State, Services>()

suppressions.post('/suppressions', fullAccess, readBody, async ctx => {
  const { email, ...fields } = parse(NewSuppression, ctx.state.body)
  const [added] = await addSuppressions(ctx.pool, ctx.state.caller.account_id, [{ ...newRow(ctx, email), ...fields }])
  const { is_new, suppression } = added as AddedSuppression
  ctx.status = is_new ? 201 : 200
  ctx.body = suppression
})

suppressions.post('/suppressions/batch/add', fullAccess, readBody, async ctx => {
  const { emails } = parse(AddedAddresses, ctx.state.body)
  const rows = emails.map(email => ({ ...newRow(ctx, email), reason: 'manual' as const, expires_at: null }))
  const added = await addSuppressions(ctx.pool, ctx.state.caller.account_id, rows)
  ctx.body = { data: added.map(({ suppression: { id, email } }) => ({ object: 'suppression', id, email })) }
})

/** In the order of the request. One that is not there is not `deleted`; named by its address, it has no id. */
suppressions.post('/suppressions/batch/remove', fullAccess, readBody, async ctx => {
  const { emails, ids } = parse(RemovedSuppressions, ctx.state.body)
  const addresses = emails?.map(({ address }) => address.toLowerCase())
  const removed = await removeSuppressions(ctx.pool, ctx.state.caller.account_id, {
    ...(ids ? { ids } : { addresses }),
  })
  const found = new Map(
    removed.flatMap(({ id, email }) => [
      [id, { id, email }],
      [email, { id, email }],
    ]),
  )
  ctx.body = {
    data: (ids ?? addresses ?? []).map(name => {
      const { id, email } = found.get(name) ?? { id: ids ? name : null, email: ids ? null : name }
      return { object: 'suppression', id, email, deleted: found.has(name) }
    }),
  }
})

function newRow(ctx: Context, email: Address): { id: string; address: string } {
  if (simulatedOutcome(email, ctx.config.SIMULATOR_DOMAIN)) throw invalid('The simulator is never suppressed.')
  return { id: newId(), address: email.address }
}

suppressions.get('/suppressions', fullAccess, async ctx => {
  const names = ['email', 'domain', 'reason', 'origin']
  const filter = parse(SuppressionQuery, Object.fromEntries(names.map(name => [name, single(ctx, name)])))
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
