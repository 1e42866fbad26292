import { isAway, readBack } from '#flows/process/read_back.ts'
import { ApiError } from '#lib/errors.ts'
import { NoAnswerError, type Pool } from '#sql/pool.ts'
import { isRefusedData, retryConflicts, splitOnRefusal } from '#sql/retry.ts'
import { unavailable } from '../errors.ts'

/**
 * `find`: returns the stored rows of items. `outcomeOf`: returns the outcome of an item by these rows; undefined if it
 * is not stored.
 */
type Storing<In, Out, Found> = {
  store: (items: In[]) => Promise<(Out | Error)[]>
  find: (items: In[]) => Promise<Found[]>
  outcomeOf: (item: In, found: Found[]) => Out | undefined
}

/**
 * Stores items in one commit. Splits items that Postgres refuses until the faulty one is alone; each part has its own
 * outcome. Never throws if Postgres is unavailable: each item then gets an {ApiError}.
 */
export function storeTogether<In, Out, Found>(
  pool: Pool,
  items: In[],
  storing: Storing<In, Out, Found>,
): Promise<(Out | Error)[]> {
  return splitOnRefusal(items, part => storePart(pool, part, storing))
}

/**
 * Throws only if Postgres refuses the data. Other errors become results, since an earlier part may be stored and its
 * callers must be told so.
 */
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
    // The commit may have happened although its response was lost: it is looked up and never repeated.
    const found = await readBack(pool, error, () => find(items)).catch(unavailable)
    if (found instanceof ApiError) return items.map(() => found)
    return items.map(item => outcomeOf(item, found) ?? unavailable(error))
  }
}

/** Returns true if every other waiting caller would get this error too, since Postgres is unavailable. */
export function concernsAll(error: unknown): boolean {
  return error instanceof ApiError && isAway(error.cause)
}
