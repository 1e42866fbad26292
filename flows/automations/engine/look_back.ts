import type { Answer } from '#lib/automations/evaluate/requests.ts'
import { type FoundRow, lookBack } from '#sql/automations/engine/look_back.ts'
import type { RequestingRun, SharedState } from './active_run.ts'

/**
 * Finds events that runs wait for and that have happened already. A later event wakes the runs in its own commit, which
 * locks them first: either the event finds the run waiting, or the run finds the event.
 */
export async function lookBackForEvents({ tx }: SharedState, requesting: RequestingRun<'events'>[]): Promise<Answer[]> {
  const waiting = requesting.map(({ run: { account_id, id: run_id }, request: { name, is_first, consumed } }) => ({
    ...{ account_id, run_id, name, is_first, consumed },
  }))
  const found = Map.groupBy(await lookBack(tx, waiting), ({ run_id }) => run_id)
  return requesting.map(activeRun => {
    const rows = found.get(activeRun.run.id) ?? []
    const events = rows.filter((row): row is FoundRow & { payload: object } => row.payload !== null)
    const before = activeRun.request.is_first ? null : activeRun.run.seen_event
    activeRun.seen_event = events.at(-1)?.id ?? before
    activeRun.is_unread = rows.length > 0 && events.length === 0
    const is_full = rows.length > 0 && !(events.length === rows.length && rows.at(-1)?.is_last)
    return { kind: 'events', events, is_full }
  })
}
