import { isOutage } from '#lib/log_repeats.ts'
import type { Claim, RunId } from '#sql/automations/engine/runs.ts'
import { postponeRun } from '#sql/automations/engine/runs.ts'
import { type Pool, sqlState } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import { type AdvancedSet, advanceSet, type EngineServices } from './advance_set.ts'

type Services = EngineServices & { pool: Pool }

/** Runs per commit. Larger sets are no faster and hold their locks for longer. */
const SET = 1_000

/** A run whose statements fail is retried after 1, 2, 4 and 8 minutes. */
const ATTEMPTS = 5
const RETRY_SECONDS = 60

/** Advances runs until none is due or `isOver` returns true. */
export async function advanceRuns(services: Services, isOver: () => boolean = () => false, set = SET): Promise<void> {
  for (;;) {
    const { claimed, left, has_more } = await advance(services, set)
    if (!has_more || left === claimed.length || isOver()) return
  }
}

/** Errors that fewer runs may not cause: a statement took too long, or needed too much memory or too many locks. */
const NEEDS_LESS = new Set<string | null>(['57014', '53200'])

/** Advances one set. If its statements fail, advances each half, until the faulty run is alone. */
async function advance(services: Services, claim: Claim): Promise<AdvancedSet> {
  let claimed: AdvancedSet['claimed'] = []
  const run = () =>
    services.pool.transaction(tx =>
      advanceSet(tx, services, claim, runs => {
        claimed = runs
      }),
    )
  try {
    return await retryConflicts(run)
  } catch (error) {
    // No run is at fault: all of them stay due.
    if ((isOutage(error) && !NEEDS_LESS.has(sqlState(error))) || claimed.length === 0) throw error
    if (claimed.length === 1) await blame(services, claimed[0] as RunId, error)
    else {
      const middle = Math.ceil(claimed.length / 2)
      await advance(services, claimed.slice(0, middle))
      await advance(services, claimed.slice(middle))
    }
    return { claimed, left: 0, has_more: true }
  }
}

async function blame({ pool, log }: Services, run: RunId, error: unknown): Promise<void> {
  log.error({ err: error, run_id: run.id }, 'a run could not be advanced')
  const options = { seconds: RETRY_SECONDS, max_attempts: ATTEMPTS, error: GIVEN_UP }
  await pool.transaction(tx => postponeRun(tx, run, options))
}

const GIVEN_UP = 'internal_server_error: The step could not be taken.'
