import type { Log } from '#lib/log.ts'
import type { Following } from '#sql/listener.ts'
import type { Pool } from '#sql/pool.ts'
import { type Batch, type BatchId, closeBatch, findBatch } from '#sql/sending/batches.ts'
import { unavailable } from './errors.ts'
import { processBatch } from './process_batch.ts'

/** A batch that has got no further in this time is processed here: no worker runs, or it died. */
const PATIENCE_MS = 1_000

/** Before Postgres is asked again that could not tell. */
const RETRY_MS = 500

/** After the deadline the end may take so long: a slice that was begun, as long as a statement may; a database away. */
const GRACE_MS = 20_000

type Dependencies = { pool: Pool; log: Log }
type OpenBatch = BatchId & { deadline_ms: number }

/**
 * Waits until a batch is stored, or closed at its deadline, and sees to both. It is stored in part by then, so its caller
 * is told an outcome even if Postgres is away for a while, or a slow slice keeps the batch from being closed.
 *
 * Answers null when its deadline passed before anything of it was stored.
 *
 * @throws {ApiError} `sending_service_unavailable`: nobody can tell
 */
export async function waitUntilSettled(deps: Dependencies, batch: OpenBatch, news: Following): Promise<Batch | null> {
  const { pool, log } = deps
  const helper = createHelper(deps, batch)
  const end = performance.now() + batch.deadline_ms + GRACE_MS

  for (let wait = Math.min(PATIENCE_MS, batch.deadline_ms); ; ) {
    await news.next(wait)
    try {
      const found = await findBatch(pool, batch)
      if (found?.state !== 'open') return found
      if (found.ms_left > 0) helper.help(found.stored)
      else await closeBatch(pool, batch)
      wait = Math.min(PATIENCE_MS, Math.max(found.ms_left, 0))
    } catch (error) {
      if (performance.now() > end) throw unavailable(error)
      log.warn({ err: error, batch_id: batch.id }, 'what became of a batch is not known yet')
      wait = RETRY_MS
    }
  }
}

/** Processes the batch here when as much of it is stored as the last time. */
function createHelper({ pool, log }: Dependencies, batch: BatchId) {
  let before = 0
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
