import { insist } from '#flows/process/retry_until.ts'
import { coalesce } from '#lib/async/coalesce.ts'
import type { Semaphore } from '#lib/async/semaphore.ts'
import type { Log } from '#lib/log.ts'
import {
  type ClaimedDelivery,
  type DeliveryResult,
  fenceDeliveries,
  settleDeliveries,
  type Token,
} from '#sql/delivery/deliveries.ts'
import type { Pool } from '#sql/pool.ts'
import { splitOnRefusal } from '#sql/retry.ts'
import type { Verdict } from './decide_outcome.ts'

/** What a worker writes about the deliveries it holds: many of them in one commit, each caller answered after its own. */
export type Ledger = {
  /**
   * Whether the final dot may be written, once there is one of `places`: of deliveries between fence and result, without
   * those set aside. Each token that was fenced must be settled, by the same object.
   */
  fence(token: Token, places: Semaphore): Promise<boolean>
  /** Gives back the place of one that was fenced and waits for a very long time. It must still be settled. */
  setAside(token: Token): void
  /** Writes a result, however long Postgres is away: it is forgotten only by `giveUp`. False: the token was outdated. */
  settle(token: ClaimedDelivery, verdict: Verdict): Promise<boolean>
  /** From now on a result that cannot be written is left to the sweep. */
  giveUp(): void
}

type Options = { lease_seconds: number }

export function createLedger(pool: Pool, log: Log, { lease_seconds }: Options): Ledger {
  const gaveUp = new AbortController()
  /** With the places that they hold. */
  const fenced = new Map<Token, Semaphore>()
  const settled = new WeakSet<Token>()

  const fenceMany = coalesce<Token, boolean>(
    async tokens => {
      const allowed = await fenceDeliveries(pool, tokens, lease_seconds)
      const owners = new Map(allowed.map(({ id, lease_owner }) => [id, lease_owner]))
      return tokens.map(({ id, lease_owner }) => owners.get(id) === lease_owner)
    },
    { in_flight: 1, max_items: 100, interval_ms: 4 },
  )

  const write = async (results: DeliveryResult[]): Promise<boolean[]> => {
    const ids = new Set(await settleDeliveries(pool, results))
    return results.map(result => ids.has(result.id))
  }

  const record = coalesce<DeliveryResult, boolean>(
    results =>
      insist(gaveUp.signal, log, 'results of deliveries', () =>
        splitOnRefusal<DeliveryResult, boolean>(results, write),
      ),
    { in_flight: 1, max_items: 100, interval_ms: 8 },
  )

  const leave = (token: Token): void => {
    fenced.get(token)?.release()
    fenced.delete(token)
  }

  return {
    async fence(token, places) {
      await places.acquire()
      // Given up while it waited: nobody would make room again.
      if (settled.has(token)) {
        places.release()
        return false
      }
      fenced.set(token, places)
      return fenceMany(token)
    },
    setAside: leave,
    async settle(token, verdict) {
      const { account_id, id, attempt, lease_owner, email_id } = token
      settled.add(token)
      try {
        return await record({ ...verdict, account_id, id, attempt, lease_owner, email_id })
      } finally {
        // An error of the fence's own tells nothing: it may have been written.
        leave(token)
      }
    },
    giveUp: () => gaveUp.abort(),
  }
}
