import { z } from 'zod'
import { refTo } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { addSuppressions, removeSuppressions } from '#flows/suppressions/change_suppressions.ts'
import { AddedAddresses, RemovedSuppressions } from '#lib/suppressions/new_suppression.ts'
import { newRow } from './suppressions.ts'

const IN_ORDER = 'In the order of the request.'
const AddedSuppressions = z
  .object({
    data: z.array(refTo('suppression').extend({ email: z.string().describe('The address.') })).describe(IN_ORDER),
  })
  .meta({ id: 'AddedSuppressions' })
const DeletedSuppressions = z
  .object({
    data: z
      .array(
        z.object({
          object: z.literal('suppression'),
          id: z.string().nullable().describe('Id of the suppression; null if the address is not suppressed.'),
          email: z.string().nullable().describe('The address; null if the id is unknown.'),
          deleted: z.boolean().describe('True if it existed.'),
        }),
      )
      .describe(IN_ORDER),
  })
  .meta({ id: 'DeletedSuppressions' })

export const suppressionBatches = [
  operation('POST /suppressions/batch/add', {
    id: 'createSuppressions',
    access: 'full',
    summary: 'Suppress up to 1,000 addresses',
    body: json(AddedAddresses),
    answers: { 200: AddedSuppressions },
    errors: ['missing_required_field'],
  }).handle(async (ctx, { account_id, body }) => {
    const rows = body().emails.map(email => ({ ...newRow(ctx, email), reason: 'manual' as const, expires_at: null }))
    const added = await addSuppressions(ctx.pool, account_id, rows)
    return { data: added.map(({ suppression: { id, email } }) => ({ object: 'suppression' as const, id, email })) }
  }),

  operation('POST /suppressions/batch/remove', {
    id: 'deleteSuppressions',
    access: 'full',
    summary: 'Remove up to 1,000 suppressions',
    description:
      'If a suppression does not exist, `deleted` is false; if it was named by its address, its `id` is null.',
    body: json(RemovedSuppressions),
    answers: { 200: DeletedSuppressions },
    errors: ['missing_required_field'],
  }).handle(async (ctx, { account_id, body }) => {
    const { emails, ids } = body()
    const addresses = emails?.map(({ address }) => address.toLowerCase())
    const removed = await removeSuppressions(ctx.pool, account_id, ids ? { ids } : { addresses })
    const found = new Map(
      removed.flatMap(one => [
        [one.id, one],
        [one.email, one],
      ]),
    )
    return {
      data: (ids ?? addresses ?? []).map(name => {
        const { id, email } = found.get(name) ?? { id: ids ? name : null, email: ids ? null : name }
        return { object: 'suppression' as const, id, email, deleted: found.has(name) }
      }),
    }
  }),
]
