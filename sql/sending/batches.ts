import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { type Draft, draftsJson } from './accept/drafts.ts'
import { Fault, FaultDetail, RequestFault } from './accept/faults.ts'
import { lockKey } from './idempotency_keys.ts'

export type BatchId = { account_id: string; id: string }

/** An email of a request that is not sent, with its position. */
export const BatchError = z
  .object({
    index: z.int().describe('Position of the email in the request, from 0.'),
    message: z.string().describe('Why it is not sent.'),
  })
  .meta({ id: 'BatchError' })
export type BatchError = z.infer<typeof BatchError>

export type NewBatch = BatchId & {
  key: string | null
  fingerprint: string | null
  deadline_ms: number
  drafts: Draft[]
  /** Position of each draft in the request. */
  indexes: number[]
  errors: BatchError[]
  slice_size: number
}

/** Inserts a batch without its drafts; returns false if its key is taken. Without a key it always returns true. */
export async function insertBatch(tx: Tx, batch: NewBatch): Promise<boolean> {
  if (batch.key !== null) {
    if (!(await lockKey(tx, batch.account_id, { route: '/emails/batch', key: batch.key }))) return false
    await tx.run(sql.unsafe`
      DELETE FROM batches WHERE account_id = ${batch.account_id} AND key = ${batch.key}
        AND created_at <= now() - key_lifetime()
    `)
  }
  const count = await tx.run(sql.unsafe`
    INSERT INTO batches (account_id, id, key, fingerprint, deadline, drafts, indexes, errors, slice_size)
    VALUES (${batch.account_id}, ${batch.id}, ${batch.key}, decode(${batch.fingerprint}, 'hex'),
      now() + make_interval(secs => ${batch.deadline_ms / 1000}), '[]',
      ${sql.array(batch.indexes, 'int4')}, ${JSON.stringify(batch.errors)}, ${batch.slice_size})
    ON CONFLICT (account_id, key) DO NOTHING
  `)
  return count > 0
}

/** One fault per draft, with its details; `retry_after`: seconds, for `reputation_limit_exceeded`. */
const Judged = z.object({
  faults: z.array(Fault.nullable()),
  retry_after: z.int().nullable(),
  details: z.array(FaultDetail.nullable()),
})

/**
 * Opens a batch that was just inserted, unless the faults of its drafts forbid it. Stores it at once if it fits into one slice
 * (sql/sending/batches.sql).
 */
export async function openBatch(
  tx: Tx,
  { account_id, id, drafts }: NewBatch,
  is_permissive: boolean,
): Promise<z.infer<typeof Judged>> {
  return tx.one(sql.prepared('open_batch', Judged)`
    SELECT faults, retry_after, details FROM open_batch(
      ${account_id}, ${id}, ${await draftsJson(drafts)}::json, ${is_permissive}, ${sql.array(RequestFault.options, 'text')}
    )
  `)
}

export async function updateBatchErrors(tx: Tx, { account_id, id }: BatchId, errors: BatchError[]): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE batches SET errors = ${JSON.stringify(errors)} WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/** Stores the next emails of a batch in one commit. Returns true if there are more; stores none after its deadline. */
export async function storeBatchSlice(db: Queryable, { account_id, id }: BatchId): Promise<boolean> {
  const { more } = await db.one(sql.prepared('store_batch_slice', z.object({ more: z.boolean() }))`
    SELECT store_batch_slice(${account_id}, ${id}) AS more
  `)
  return more
}

/** Closes a batch whose deadline has passed: the rest of it will never be stored. */
export async function closeBatch(db: Queryable, { account_id, id }: BatchId): Promise<void> {
  await db.run(sql.unsafe`SELECT close_batch(${account_id}, ${id})`)
}

export const Batch = z.object({
  account_id: z.string(),
  id: z.string(),
  fingerprint: z.string().nullable(),
  state: z.enum(['open', 'done', 'closed']),
  /** Time until its deadline, by the clock of Postgres. */
  ms_left: z.int(),
  email_ids: z.array(z.string()),
  indexes: z.array(z.int()),
  errors: z.array(z.object({ index: z.int(), message: z.string() })),
  stored: z.int(),
})
export type Batch = z.infer<typeof Batch>

const columns = sql.fragment`
  account_id, id, encode(fingerprint, 'hex') AS fingerprint, state,
  ceil(extract(epoch FROM deadline - clock_timestamp()) * 1000)::bigint AS ms_left, email_ids, indexes, errors, stored
`

/** Returns null if there is none, or it was closed before anything was stored. */
export async function findBatch(db: Queryable, { account_id, id }: BatchId): Promise<Batch | null> {
  return db.maybeOne(sql.prepared('find_batch', Batch)`
    SELECT ${columns} FROM batches WHERE account_id = ${account_id} AND id = ${id}
  `)
}

export async function findBatchByKey(db: Queryable, account_id: string, key: string): Promise<Batch | null> {
  return db.maybeOne(sql.type(Batch)`
    SELECT ${columns} FROM batches
    WHERE account_id = ${account_id} AND key = ${key} AND created_at > now() - key_lifetime()
  `)
}

/** Lists open batches whose request was abandoned. */
export async function listOverdueBatches(db: Queryable, limit: number): Promise<BatchId[]> {
  return db.any(sql.type(z.object({ account_id: z.string(), id: z.string() }))`
    SELECT account_id, id FROM batches
    WHERE state = 'open' AND deadline < clock_timestamp() - interval '5 seconds' ORDER BY deadline LIMIT ${limit}
  `)
}

/** Deletes batches older than 24 hours, for which their keys are kept. Returns how many. */
export async function deleteExpiredBatches(db: Queryable): Promise<number> {
  return db.run(sql.unsafe`DELETE FROM batches WHERE state <> 'open' AND created_at < now() - key_lifetime()`)
}
