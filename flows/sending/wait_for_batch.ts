import type { Log } from '#lib/log.ts'
import type { Following, Listener } from '#sql/listener.ts'
import type { Pool } from '#sql/pool.ts'
import { type Batch, type BatchId, closeBatch, findBatch } from '#sql/sending/batches.ts'
import { unavailable } from './errors.ts'
import { processBatch } from './process_batch.ts'

/** A batch without progress in this time is processed here: no worker is running, or it died. */
const PATIENCE_MS = 1_000

/** Pause before Postgres is asked again after an error. */
const RETRY_MS = 500

/**
 * Grace after the deadline: a slice in progress may take as long as a statement may, and the database may be
 * unavailable.
 */
const GRACE_MS = 20_000

type Dependencies = { pool: Pool; log: Log; listener: Listener }
type OpenBatch = BatchId & { deadline_ms: number }

/**
 * Waits until a batch is stored, or closed at its deadline. Stores it here if no worker does, and closes it. A batch that
 * is not stored completely by then is closed with the part that is stored: so its caller gets an outcome even if Postgres
 * is unavailable for a while or a slice is slow.
 *
 * Returns null if the deadline passed before anything was stored.
 *
 * @throws {ApiError} `sending_service_unavailable` if the outcome is unknown
 */
export async function waitUntilSettled(deps: Dependencies, batch: OpenBatch): Promise<Batch | null> {
  const news = await deps.listener.follow(batch.id)
  try {
    return await wait(deps, batch, news)
  } finally {
    news.end()
  }
}

async function wait(deps: Dependencies, batch: OpenBatch, news: Following): Promise<Batch | null> {
  const { pool, log } = deps
  const helper = createHelper(deps, batch)
  const end = performance.now() + batch.deadline_ms + GRACE_MS

  // Looks first: it may have been stored before it was followed.
  for (let pause = 0; ; ) {
    await news.next(pause)
    try {
      const found = await findBatch(pool, batch)
      if (found?.state !== 'open') return found
      if (found.ms_left > 0) helper.help(found.stored)
      else await closeBatch(pool, batch)
      pause = Math.min(PATIENCE_MS, Math.max(found.ms_left, 0))
    } catch (error) {
      if (performance.now() > end) throw unavailable(error)
      log.warn({ err: error, batch_id: batch.id }, 'the outcome of a batch is not known yet')
      pause = RETRY_MS
    }
  }
}

/** Processes the batch here if it has made no progress since the last call. */
function createHelper({ pool, log }: Dependencies, batch: BatchId) {
  let before: number | null = null
  let isHelping = false
  const process = async () => {
    isHelping = true
    await processBatch(pool, batch).catch(error =>
      log.warn({ err: error, batch_id: batch.id }, 'a batch could not be processed here'),
    )
    isHelping = false
  }
  return {
    help(stored: number) {
      if (stored === before && !isHelping) void process()
      before = stored
    },
  }
}
