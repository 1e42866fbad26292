import { localTimes } from '#lib/campaigns/local_time.ts'
import { type DueTimes, listWaitingZones, listZonesAhead, releaseWaiting } from '#sql/campaigns/sending/due_times.ts'
import type { Run } from '#sql/campaigns/sending/runs.ts'
import type { Tx } from '#sql/pool.ts'

/** When the next contacts that a run looks at get their email, by their zones; null: all at once. */
export async function dueTimesAhead(tx: Tx, run: Run, limit: number): Promise<DueTimes | null> {
  if (!run.send_in_local_time || run.scheduled_at === null) return null
  return dueTimes(run, run.scheduled_at, await listZonesAhead(tx, run, limit))
}

/**
 * Gives recipients who waited for the winner of an A/B test the time of their zone, up to `limit`; returns how many. Where it has
 * passed, their email is due at once.
 */
export async function releaseLocally(tx: Tx, run: Run, limit: number): Promise<number> {
  if (!run.send_in_local_time || run.scheduled_at === null || run.decided_variant === null) return 0
  const zones = await listWaitingZones(tx, run, limit)
  if (zones === null) return 0
  return releaseWaiting(tx, run, dueTimes(run, run.scheduled_at, zones), limit)
}

/** Contacts without a zone, and with one that is not known any more, have that of the campaign. */
function dueTimes({ timezone }: Run, at: Date, zones: string[]): DueTimes {
  const times = localTimes(at, timezone, zones)
  return { other: at.toISOString(), zones: [...times].map(([name, time]) => ({ name, at: time.toISOString() })) }
}
