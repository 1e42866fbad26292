import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** State of the whole installation. `is_transport_unusable`: a worker saw the fault within the last minute. */
export const Platform = z.object({
  paused_at: z.date().nullable(),
  pause_reason: z.string().nullable(),
  warm_up_per_day: z.int(),
  transport_fault: z.string().nullable(),
  is_transport_unusable: z.boolean(),
})
export type Platform = z.infer<typeof Platform>

export async function findPlatform(db: Queryable): Promise<Platform> {
  return db.one(sql.type(Platform)`
    SELECT paused_at, pause_reason, warm_up_per_day, transport_fault,
      coalesce(transport_fault_at > now() - interval '60 seconds', false) AS is_transport_unusable
    FROM platform
  `)
}

/** Pauses the installation: no mail is accepted or claimed until it is resumed. */
export async function pausePlatform(db: Queryable, reason: string | null): Promise<void> {
  await db.run(sql.unsafe`UPDATE platform SET paused_at = coalesce(paused_at, now()), pause_reason = ${reason}`)
}

export async function resumePlatform(db: Queryable): Promise<void> {
  await db.run(sql.unsafe`
    UPDATE platform SET paused_at = NULL, pause_reason = NULL, resumed_at = now() WHERE paused_at IS NOT NULL
  `)
}

/** Sets how many recipients a domain may have on the day it was verified, which doubles each day; 0: no limit. */
export async function setWarmUp(db: Queryable, per_day: number): Promise<void> {
  await db.run(sql.unsafe`UPDATE platform SET warm_up_per_day = ${per_day}`)
}

/** Stores why the transport cannot work now; null: it works. */
export async function setTransportFault(db: Queryable, fault: string | null): Promise<void> {
  await db.run(sql.unsafe`
    UPDATE platform SET transport_fault = ${fault}, transport_fault_at = CASE WHEN ${fault}::text IS NOT NULL THEN now() END
    WHERE transport_fault IS NOT NULL OR ${fault}::text IS NOT NULL
  `)
}

/** Records that mail of the domain of a delivery cannot be sent now: no more mail is accepted from it for a minute. */
export async function markTransportFault(db: Queryable, account_id: string, delivery_id: string): Promise<void> {
  await db.run(sql.unsafe`
    UPDATE domains o SET transport_fault_at = now()
    FROM deliveries d JOIN emails e ON e.account_id = d.account_id AND e.id = d.email_id
    WHERE d.account_id = ${account_id} AND d.id = ${delivery_id} AND o.account_id = e.account_id AND o.id = e.domain_id
      AND (o.transport_fault_at > now() - interval '5 seconds') IS NOT TRUE
  `)
}
