import type { Context } from '#api/context.ts'
import { deleted, listOf } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { uuid } from '#api/operations/ids.ts'
import { operation } from '#api/operations/operation.ts'
import type { Param } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { addSuppressions, removeSuppression } from '#flows/suppressions/change_suppressions.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { type Address, parseAddress } from '#lib/mail/address.ts'
import { simulatedOutcome } from '#lib/mail/simulator.ts'
import { NewSuppression, SuppressionQuery } from '#lib/suppressions/new_suppression.ts'
import type { AddedSuppression } from '#sql/suppressions/suppression_changes.ts'
import { findSuppression, listSuppressions, Suppression, type SuppressionRef } from '#sql/suppressions/suppressions.ts'

/** A path may name a suppression by its address, since there is at most one per address. */
const id: Param<SuppressionRef> = {
  resource: 'Suppression',
  read: text => {
    const address = parseAddress(text)
    if (address) return { address: address.address }
    const id = uuid(text)
    return id === null ? null : { id }
  },
  description: 'Id of the suppression, or its address.',
}
const params = { id }

export const suppressions = [
  operation('POST /suppressions', {
    id: 'createSuppression',
    access: 'full',
    summary: 'Suppress an address',
    description: 'Returns 200 if the address is already suppressed.',
    body: json(NewSuppression),
    answers: { 200: Suppression, 201: Suppression },
    errors: ['missing_required_field'],
  }).handle(async (ctx, { account_id, body }) => {
    const { email, ...fields } = body()
    const [added] = await addSuppressions(ctx.pool, account_id, [{ ...newRow(ctx, email), ...fields }])
    const { is_new, suppression } = added as AddedSuppression
    ctx.status = is_new ? 201 : 200
    return suppression
  }),

  operation('GET /suppressions', {
    id: 'listSuppressions',
    access: 'full',
    summary: 'List suppressions, newest first',
    query: wholeQuery(SuppressionQuery.shape),
    answers: { 200: listOf(Suppression) },
  }).handle(async (ctx, { account_id, query }) => {
    const { filters, position } = query()
    return listSuppressions(ctx.pool, account_id, filters, position)
  }),

  operation('GET /suppressions/:id', {
    id: 'getSuppression',
    access: 'full',
    params,
    summary: 'Get a suppression',
    answers: { 200: Suppression },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    return orNotFound('Suppression', await findSuppression(ctx.pool, account_id, id))
  }),

  operation('DELETE /suppressions/:id', {
    id: 'deleteSuppression',
    access: 'full',
    params,
    summary: 'Remove a suppression',
    answers: { 200: deleted('suppression') },
  }).handle(async (ctx, { account_id, params }) => {
    const id = await removeSuppression(ctx.pool, account_id, params.id)
    return { object: 'suppression', id, deleted: true }
  }),
]

/** Returns the id and the address of a new suppression. @throws {ApiError} `validation_error` */
export function newRow(ctx: Context, email: Address): { id: string; address: string } {
  if (simulatedOutcome(email, ctx.config.SIMULATOR_DOMAIN)) {
    throw new ApiError('validation_error', 'The simulator is never suppressed.')
  }
  return { id: newId(), address: email.address }
}
