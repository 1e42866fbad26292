import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'

/**
 * `entered`: the re-entry rule forbids another run. `limit`: the contact has started the maximum of runs in 24 hours.
 */
const Entered = z.object({
  outcome: z.enum(['started', 'no_contact', 'disabled', 'entered', 'limit', 'quota']),
  run_id: z.string().nullable(),
})
export type Entered = z.infer<typeof Entered>

type Entry = { account_id: string; automation_id: string; contact_id: string; payload: Record<string, unknown> }

/**
 * Starts a run of an automation for a contact of its domain (enter_by_hand.sql). `run_id` is null if none was started.
 */
export async function startRunByHand(
  tx: Tx,
  { account_id, automation_id, contact_id, payload }: Entry,
): Promise<Entered> {
  return tx.one(sql.type(Entered)`
    SELECT outcome, run_id FROM enter_by_hand(${account_id}, ${automation_id}, ${contact_id}, ${JSON.stringify(payload)}::jsonb)
  `)
}
