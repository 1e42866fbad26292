import { z } from 'zod'
import type { Context } from '#api/context.ts'
import { readRequestKey } from '#api/middleware/idempotency.ts'
import { SentEmail } from '#api/operations/answers.ts'
import { jsonWithFiles } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { SEND_ERRORS } from '#api/send_requested.ts'
import { sendBatch } from '#flows/sending/send_batch.ts'
import { prepareDrafts } from '#flows/sending/send_email.ts'
import { TimeSlice } from '#lib/async/time_slice.ts'
import { ApiError } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { findUnstorable } from '#lib/json/unstorable_json.ts'
import { NewEmail } from '#lib/sending/new_email.ts'
import { BatchError } from '#sql/sending/batches.ts'

const MAX_EMAILS = 100

const NewBatch = z.array(NewEmail).min(1).max(MAX_EMAILS).meta({ id: 'NewBatch' })
const SentBatch = z
  .object({
    data: z.array(SentEmail).describe('The emails that are sent, in the order of the request.'),
    errors: z.array(BatchError).optional().describe('The emails that a permissive batch left out.'),
  })
  .meta({ id: 'SentBatch' })

export const emailBatch = [
  operation('POST /emails/batch', {
    id: 'sendBatch',
    access: 'sending',
    isSend: true,
    summary: 'Send up to 100 emails',
    description:
      'All emails are checked before any is sent. With `X-Batch-Validation: permissive`, invalid emails are left out and ' +
      'listed in `errors`.',
    headers: ['Idempotency-Key', 'X-Batch-Validation'],
    // Only describes the body: the emails are checked one by one, since a permissive request leaves out invalid ones.
    body: jsonWithFiles(NewBatch),
    answers: {
      200: SentBatch,
    },
    errors: [...SEND_ERRORS, 'batch_incomplete', { name: 'batch_incomplete', status: 422 }],
  }).handle(async ctx => {
    const is_permissive = readValidation(ctx) === 'permissive'
    const { emails, indexes, errors } = await readEmails(ctx, is_permissive)
    const key = await readRequestKey(ctx, is_permissive ? '/emails/batch permissive' : '/emails/batch')
    const { account_id } = ctx.state.caller
    const drafts = await prepareDrafts(ctx, ctx.state.caller, emails, null)
    const request = { account_id, key, is_permissive, drafts, indexes, errors }
    const { answer, replayed } = await sendBatch(ctx, request)
    if (replayed) ctx.set('idempotent-replayed', 'true')
    return answer
  }),
]

function readValidation(ctx: Context): 'strict' | 'permissive' {
  const mode = ctx.get('x-batch-validation') || 'strict'
  if (mode !== 'strict' && mode !== 'permissive') {
    throw new ApiError('validation_error', 'The `x-batch-validation` header must be `strict` or `permissive`.')
  }
  return mode
}

/** Checks the shape of each email. The first wrong one rejects a strict batch; a permissive batch leaves it out. */
async function readEmails(ctx: Context, is_permissive: boolean) {
  const { body } = ctx.state
  if (!Array.isArray(body) || body.length < 1 || body.length > MAX_EMAILS) {
    throw new ApiError('validation_error', `The body must be a list of 1 to ${MAX_EMAILS} emails.`)
  }
  const emails: NewEmail[] = []
  const indexes: number[] = []
  const errors: BatchError[] = []
  const slice = new TimeSlice()
  for (const [index, item] of body.entries()) {
    try {
      emails.push(readEmail(item, `emails[${index}]`))
      indexes.push(index)
    } catch (error) {
      if (!is_permissive || !(error instanceof ApiError)) throw error
      errors.push({ index, message: error.message })
    }
    if (slice.isOver) await slice.pause()
  }
  return { emails, indexes, errors }
}

function readEmail(item: unknown, place: string): NewEmail {
  const reason = findUnstorable(item)
  if (reason) throw new ApiError('validation_error', `\`${place}\` cannot be stored: ${reason}.`)
  return parse(NewEmail, item, place)
}
