import { ApiError } from '#lib/errors.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import type { Batch, BatchError } from '#sql/sending/batches.ts'
import type { RequestKey } from './draft_emails.ts'
import { unavailable } from './errors.ts'

/** `indexes`: position of each draft in the request. `errors`: emails that a permissive request already leaves out. */
export type BatchRequest = {
  account_id: string
  key: RequestKey | null
  is_permissive: boolean
  drafts: Draft[]
  indexes: number[]
  errors: BatchError[]
}

export type SentBatch = { answer: { data: { id: string }[]; errors?: BatchError[] }; replayed: boolean }

/**
 * Returns the answer to a batch request; it is the same for the same batch at any time.
 *
 * @throws {ApiError} `batch_incomplete`, which lists the emails that were stored before the deadline
 */
export function answerOf(
  batch: Batch | null,
  { key, is_permissive }: BatchRequest,
  replayed: boolean,
): SentBatch['answer'] {
  if (!batch) throw unavailable(new Error('nothing of a batch was stored before its deadline'))
  const sent = batch.email_ids.slice(0, batch.stored)
  if (batch.state === 'done') {
    return { data: sent.map(id => ({ id })), ...(is_permissive ? { errors: batch.errors } : {}) }
  }
  throw new ApiError('batch_incomplete', `Only ${sent.length} of ${batch.email_ids.length} emails were sent in time.`, {
    ...(key ? {} : { statusCode: 422 }),
    headers: { ...(key ? { 'retry-after': '1' } : {}), ...(replayed ? { 'idempotent-replayed': 'true' } : {}) },
    details: { sent: sent.map((id, i) => ({ index: batch.indexes[i], id })), sent_count: sent.length },
  })
}
