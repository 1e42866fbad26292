import type { Answer } from '#lib/automations/evaluate/requests.ts'
import { LOOK, lookBack } from '#sql/automations/engine/look_back.ts'
import type { Asking, Together } from './walker.ts'

/**
 * Finds events that runs wait for and that came before. Of one that comes later, the runs are woken in its commit: it locks them
 * first, so either it finds the run waiting, or the run finds the event.
 */
export async function lookBackForEvents({ tx }: Together, asking: Asking<'events'>[]): Promise<Answer[]> {
  const waiting = asking.map(({ run: { account_id, id: run_id }, request: { name, is_first, consumed } }) => ({
    ...{ account_id, run_id, name, is_first, consumed },
  }))
  const found = Map.groupBy(await lookBack(tx, waiting), ({ run_id }) => run_id)
  return asking.map(walker => {
    const events = found.get(walker.run.id) ?? []
    const is_full = events.length === LOOK
    const before = walker.request.is_first ? null : walker.run.seen_event
    walker.seen_event = is_full ? (events.at(-1)?.id ?? before) : before
    return { kind: 'events', events, is_full }
  })
}
