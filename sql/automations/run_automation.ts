import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'
import type { AutomationId } from './definitions/automations.ts'

const Entry = z.object({
  outcome: z.enum(['started', 'disabled', 'no_contact', 'reentry', 'limit', 'quota']),
  run_id: z.string().nullable(),
  contact_id: z.string().nullable(),
})
export type Entry = z.infer<typeof Entry>

export type GivenContact = { contact_id: string } | { email: string }

/** Has a contact enter an automation (run_automation.sql). */
export async function runAutomation(
  tx: Tx,
  { account_id, id }: AutomationId,
  who: GivenContact,
  payload: object,
): Promise<Entry> {
  const contact_id = 'contact_id' in who ? who.contact_id : null
  const email = 'email' in who ? who.email : null
  return tx.one(sql.type(Entry)`
    SELECT * FROM run_automation(${account_id}, ${id}, ${contact_id}, ${email}, ${JSON.stringify(payload)}::jsonb)
  `)
}
