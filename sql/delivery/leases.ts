import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import { ClaimedDelivery, Token } from './deliveries.ts'

/**
 * Returns the tokens that may write their final dot; a lease lost after that is in doubt
 * (sql/delivery/fence_deliveries.sql).
 */
export async function fenceDeliveries(db: Queryable, tokens: Token[], lease_seconds: number): Promise<Token[]> {
  return db.any(sql.prepared('fence_deliveries', Token)`
    SELECT account_id, id, attempt, lease_owner FROM fence_deliveries(${columns(tokens)}, ${lease_seconds})
  `)
}

const FenceRefusal = ClaimedDelivery.pick({ suppressed: true, unsubscribed: true, has_left: true, is_stopped: true })
/**
 * The reason why a delivery may no longer be sent. If all are false, sending is paused or its campaign was canceled.
 */
export type FenceRefusal = z.infer<typeof FenceRefusal>

const Looked = Token.extend(FenceRefusal.shape).extend({ is_allowed: z.boolean() })

/** As `fenceDeliveries`, for watched deliveries; also returns those that may not be sent, with the reason. */
export async function fenceWatched(
  db: Queryable,
  tokens: Token[],
  lease_seconds: number,
): Promise<z.infer<typeof Looked>[]> {
  return db.any(sql.prepared('fence_watched', Looked)`
    SELECT account_id, id, attempt, lease_owner, is_allowed, suppressed, unsubscribed, has_left, is_stopped
    FROM fence_watched(${columns(tokens)}, ${lease_seconds})
  `)
}

const Id = z.object({ id: z.string() })

/** Extends leases that have not expired; returns their ids. */
export async function extendLeases(db: Queryable, tokens: Token[], lease_seconds: number): Promise<string[]> {
  const rows = await db.any(sql.type(Id)`
    WITH mine AS MATERIALIZED (
      SELECT d.account_id, d.id
      FROM (
        SELECT * FROM unnest(${columns(tokens)}) AS token(account_id, id, attempt, lease_owner) ORDER BY id
      ) AS token
      -- One by one in the order of ids, so that two statements cannot deadlock.
      CROSS JOIN LATERAL (
        SELECT * FROM deliveries d
        WHERE d.account_id = token.account_id AND d.id = token.id AND d.attempt = token.attempt
          AND d.lease_owner = token.lease_owner
        FOR NO KEY UPDATE
      ) AS d
      WHERE d.lease_until > now()
    )
    UPDATE deliveries d SET lease_until = greatest(lease_until, now() + make_interval(secs => ${lease_seconds}))
    FROM mine WHERE d.account_id = mine.account_id AND d.id = mine.id RETURNING d.id
  `)
  return rows.map(row => row.id)
}

/** Returns one array per column, which `unnest` joins again. */
function columns(tokens: Token[]) {
  const column = (key: keyof Token, type: string) => {
    const values = tokens.map(token => token[key])
    return sql.array(values, type)
  }
  return sql.fragment`${column('account_id', 'uuid')}, ${column('id', 'uuid')}, ${column('attempt', 'int4')},
    ${column('lease_owner', 'uuid')}`
}
