import { isAway, readBack } from '#flows/process/read_back.ts'
import { ApiError } from '#lib/errors.ts'
import { NoAnswerError, type Pool } from '#sql/pool.ts'
import { isRefusedData, retryConflicts, splitOnRefusal } from '#sql/retry.ts'
import { unavailable } from '../errors.ts'

/** `find` returns what is stored of items, and `outcomeOf` the outcome of one by that; undefined: it is not stored. */
type Storing<In, Out, Found> = {
  store: (items: In[]) => Promise<(Out | Error)[]>
  find: (items: In[]) => Promise<Found[]>
  outcomeOf: (item: In, found: Found[]) => Out | undefined
}

/**
 * Stores items in one commit. Splits those that Postgres refuses until the culprit stands alone; each part that is tried has an
 * outcome of its own. Never throws for a Postgres that is away: each item gets an {ApiError}.
 */
export function storeTogether<In, Out, Found>(
  pool: Pool,
  items: In[],
  storing: Storing<In, Out, Found>,
): Promise<(Out | Error)[]> {
  return splitOnRefusal(items, part => storePart(pool, part, storing))
}

/** Throws only when Postgres refuses the data: an earlier part may be stored, and its callers must be told so. */
async function storePart<In, Out, Found>(
  pool: Pool,
  items: In[],
  { store, find, outcomeOf }: Storing<In, Out, Found>,
): Promise<(Out | Error)[]> {
  try {
    return await retryConflicts(() => store(items))
  } catch (error) {
    if (isRefusedData(error)) throw error
    if (!(error instanceof NoAnswerError)) return items.map(() => unavailable(error))
    // Without an answer the commit may have happened: it is looked up, and never made again.
    const found = await readBack(pool, error, () => find(items)).catch(unavailable)
    if (found instanceof ApiError) return items.map(() => found)
    return items.map(item => outcomeOf(item, found) ?? unavailable(error))
  }
}

/** True if Postgres was away for so long that all who wait for it have waited too. */
export function concernsAll(error: unknown): boolean {
  return error instanceof ApiError && isAway(error.cause)
}
