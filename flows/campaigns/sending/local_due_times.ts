import { localTimes } from '#lib/campaigns/local_time.ts'
import { type DueTimes, listWaitingZones, listZonesAhead, releaseWaiting } from '#sql/campaigns/sending/due_times.ts'
import type { Run } from '#sql/campaigns/sending/runs.ts'
import type { Tx } from '#sql/pool.ts'

/** Returns when the next contacts of a run get their email, by time zone; null if all get it at once. */
export async function dueTimesAhead(tx: Tx, run: Run, limit: number): Promise<DueTimes | null> {
  if (!run.send_in_local_time || run.scheduled_at === null) return null
  return dueTimes(run, run.scheduled_at, await listZonesAhead(tx, run, limit))
}

/**
 * Schedules at most `limit` recipients who waited for the winner of an A/B test, by their time zones; returns how many.
 * If that time has passed, their email is due at once.
 */
export async function releaseLocally(tx: Tx, run: Run, limit: number): Promise<number> {
  if (!run.send_in_local_time || run.scheduled_at === null || run.decided_variant === null) return 0
  const zones = await listWaitingZones(tx, run, limit)
  if (zones === null) return 0
  return releaseWaiting(tx, run, dueTimes(run, run.scheduled_at, zones), limit)
}

/** Contacts without a zone, or with one that is no longer known, use that of the campaign. */
function dueTimes({ timezone }: Run, at: Date, zones: string[]): DueTimes {
  const times = localTimes(at, timezone, zones)
  return { other: at.toISOString(), zones: [...times].map(([name, time]) => ({ name, at: time.toISOString() })) }
}
