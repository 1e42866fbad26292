import type pg from 'pg'
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import { now } from '#lib/clock.ts'
import { LostConnectionError, sqlState } from '#sql/outage.ts'
import { type Pool, sql } from '#sql/pool.ts'

/** `reset_s`: seconds until the window ends, at least 1. */
export type Use = { isAllowed: boolean; remaining: number; reset_s: number }

/** Counts one use of a key. */
export type CountUse = (key: string) => Promise<Use>

/** Counts uses, some of which turn out not to count. `giveBack` takes back one that was allowed. */
export type UseCounter = { count: CountUse; giveBack(key: string): Promise<void> }

export type Limit = { name: string; uses: number; window_s: number; onError: (error: unknown) => void }

/** Timeout of the one statement, which usually takes less than 1 ms. */
const ANSWER_MS = 1_000

/** The one statement of the library. `expire`: when the window ends; `time`: now; both in ms since 1970. */
type Upsert = { name: string; text: string; values: [key: string, points: number, expire: number, time: number] }

/**
 * Counts uses in fixed windows that all processes of the database share. Once the limit is reached, further uses are
 * refused from memory, so that a flood causes no queries.
 *
 * If Postgres cannot count, this process counts by itself and calls `onError`. So the limit always applies, and a fault
 * of this table alone does not stop mail: if Postgres is down, the statement that stores the mail fails with a 503.
 */
export function createCountUse(pool: Pool, limit: Limit): CountUse {
  return countBy(openLimiter(pool, limit, limit.uses))
}

/** As `createCountUse`, but refuses from memory only after Postgres has refused a use, since earlier ones may be given back. */
export function createUseCounter(pool: Pool, limit: Limit): UseCounter {
  const limiter = openLimiter(pool, limit, limit.uses + 1)
  return {
    count: countBy(limiter),
    async giveBack(key) {
      await limiter.reward(key)
    },
  }
}

function openLimiter(pool: Pool, { name, uses, window_s, onError }: Limit, block_at: number): RateLimiterPostgres {
  const window = { keyPrefix: name, points: uses, duration: window_s }
  return new RateLimiterPostgres({
    ...window,
    storeClient: { query: (query: Upsert) => ask(pool, query).catch(reportTo(onError)) },
    storeType: 'client',
    tableName: 'rate_limits',
    tableCreated: true, // by a migration
    clearExpiredByTimeout: false, // a task does it, once for all processes
    inMemoryBlockOnConsumed: block_at,
    insuranceLimiter: new RateLimiterMemory(window),
  })
}

function countBy(limiter: RateLimiterPostgres): CountUse {
  return async key => {
    try {
      return toUse(true, await limiter.consume(key))
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused
      return toUse(false, refused)
    }
  }
}

/** Deletes windows that have ended; returns how many. */
export async function deleteExpiredWindows(pool: Pool): Promise<number> {
  return pool.run(sql.unsafe`DELETE FROM rate_limits WHERE expire < extract(epoch FROM now()) * 1000`)
}

/**
 * Runs the statement of the library with times shifted from this machine's clock, which the library uses, to that of
 * the database, which all processes share.
 */
async function ask(pool: Pool, { values, ...query }: Upsert): Promise<pg.QueryResult> {
  const [key, points, expire, time] = values
  const ahead = now().getTime() - Date.now()
  const config = { ...query, values: [key, points, expire + ahead, time + ahead], query_timeout: ANSWER_MS }
  const result = await pool.pg.query(config)
  for (const row of result.rows) row.expire -= ahead
  return result
}

function reportTo(onError: Limit['onError']): (error: unknown) => never {
  return error => {
    onError(sqlState(error) === null ? new LostConnectionError(error as Error) : error)
    throw error
  }
}

function toUse(isAllowed: boolean, { remainingPoints, msBeforeNext }: RateLimiterRes): Use {
  return { isAllowed, remaining: remainingPoints, reset_s: Math.max(1, Math.ceil(msBeforeNext / 1_000)) }
}
