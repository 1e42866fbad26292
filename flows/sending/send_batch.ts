import { readBack } from '#flows/process/read_back.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { ApiError } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import type { Listener } from '#sql/listener.ts'
import { NoAnswerError, type Pool } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import { type Fault, type FaultDetail, RequestFault } from '#sql/sending/accept/faults.ts'
import {
  type Batch,
  closeBatch,
  findBatch,
  findBatchByKey,
  insertBatch,
  type NewBatch,
  openBatch,
  updateBatchErrors,
} from '#sql/sending/batches.ts'
import { answerOf, type BatchRequest, type SentBatch } from './batch_answers.ts'
import type { RequestKey } from './draft_emails.ts'
import { concurrent, faultError, keyConflict, unavailable } from './errors.ts'
import { waitUntilSettled } from './wait_for_batch.ts'

/**
 * Maximum characters per commit, besides the longest email. Each slice reads all drafts again, so one long email must not
 * make all slices short.
 */
const MAX_SLICE_LENGTH = 4 << 20

/** `listener`: is notified when batches are stored. */
export type BatchServices = Pick<Foundation, 'pool' | 'config' | 'log'> & { listener: Listener }

/**
 * Sends a batch: judges all of its emails before any is stored. If it is short enough, one commit does both. Otherwise waits
 * until a worker has stored it, slice by slice, or the deadline has passed. The answer is read from the database, so it is
 * right even if a worker has died.
 *
 * @throws {ApiError} the error of the first email that cannot be sent; `batch_incomplete`, which lists the emails
 *   that were stored before the deadline
 */
export async function sendBatch(services: BatchServices, request: BatchRequest): Promise<SentBatch> {
  const { pool, config } = services
  const batch = newBatch(request, config.BATCH_DEADLINE_MS)
  const opened = await openOnce(pool, batch, request)
  if (!opened) return await replay(pool, request)
  const settled = opened.state === 'open' ? await waitUntilSettled(services, batch) : opened
  return { answer: answerOf(settled, request, false), replayed: false }
}

function newBatch({ account_id, key, drafts, indexes, errors }: BatchRequest, deadline_ms: number): NewBatch {
  return {
    account_id,
    id: newId(),
    key: key?.key ?? null,
    fingerprint: key?.fingerprint ?? null,
    deadline_ms,
    drafts,
    indexes,
    errors,
    slice_size: sliceSize(drafts.map(({ html, text }) => (html?.length ?? 0) + (text?.length ?? 0))),
  }
}

function sliceSize(lengths: number[]): number {
  const most = MAX_SLICE_LENGTH + Math.max(0, ...lengths)
  const isTooLong = (slice: number[]) => slice.reduce((sum, length) => sum + length, 0) > most
  let size = lengths.length
  while (lengths.some((_, i) => i % size === 0 && isTooLong(lengths.slice(i, i + size)))) size = Math.ceil(size / 2)
  return size
}

/**
 * Opens a batch; returns null if its key is taken. If the response to the commit was lost, it is read back and never
 * repeated.
 */
async function openOnce(pool: Pool, batch: NewBatch, request: BatchRequest): Promise<Batch | null> {
  try {
    return await retryConflicts(() => open(pool, batch, request))
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error
    const opened = await readBack(pool, error, () => findBatch(pool, batch)).catch(() => null)
    if (opened) return opened
    throw unavailable(error)
  }
}

function open(pool: Pool, batch: NewBatch, { is_permissive }: BatchRequest): Promise<Batch | null> {
  return pool.transaction(async tx => {
    if (!(await insertBatch(tx, batch))) return null
    const { faults, retry_after, details } = await openBatch(tx, batch, is_permissive)
    const errors = faults.flatMap((fault, position) =>
      fault ? [errorOf(batch, fault, position, { retry_after, ...details[position] })] : [],
    )
    const ofRequest = errors.find(({ isOfRequest }) => isOfRequest)
    const first = errors.find(({ isOfRequest }) => !isOfRequest)
    // Faults of single emails come before faults of the whole request.
    const refusal = is_permissive ? ofRequest : (first ?? ofRequest)
    if (refusal) throw refusal.error
    if (first) {
      const left_out = errors.map(({ index, error }) => ({ index, message: error.message }))
      await updateBatchErrors(
        tx,
        batch,
        [...batch.errors, ...left_out].sort((a, b) => a.index - b.index),
      )
    }
    return findBatch(tx, batch)
  })
}

/** Returns the error of a fault; that of a single email names its position. */
function errorOf({ drafts, indexes }: NewBatch, fault: Fault, position: number, detail: FaultDetail) {
  const index = indexes[position] as number
  const error = faultError({ fault, detail }, drafts[position] as Draft)
  const isOfRequest = RequestFault.safeParse(fault).success
  return { index, isOfRequest, error: isOfRequest ? error : errorAt(index, error) }
}

/** Returns the error of one email for the caller of the whole batch. */
function errorAt(index: number, { name, message, statusCode, headers, cause }: ApiError): ApiError {
  return new ApiError(name, `emails[${index}]: ${message}`, { statusCode, headers, cause })
}

async function replay(pool: Pool, request: BatchRequest): Promise<SentBatch> {
  const key = request.key as RequestKey
  const find = () => findBatchByKey(pool, request.account_id, key.key)
  let found = await find()
  if (found?.state === 'open' && found.ms_left <= 0) {
    await closeBatch(pool, found) // its deadline has passed
    found = await find()
  }
  if (found && found.fingerprint !== key.fingerprint) throw keyConflict()
  // Not found: it has just been closed before anything was stored.
  if (!found || found.state === 'open') throw concurrent()
  return { answer: answerOf(found, request, true), replayed: true }
}
