import { sql, type Tx } from '#sql/pool.ts'

/** The run that changed a contact: this does not start its automation again, and its events are one level deeper. */
export type CausingRun = { automation_id: string; depth: number }

/**
 * Starts automations and wakes runs by events of contacts of an account, in the commit of the change that they report
 * (tell_automations.sql). Must be called while the contacts exist.
 */
export async function emitContactEvents(
  tx: Tx,
  account_id: string,
  event: 'contact.created' | 'contact.unsubscribed',
  ids: string[],
  run: CausingRun | null = null,
): Promise<void> {
  if (ids.length === 0) return
  await tx.run(sql.unsafe`
    SELECT tell_contacts(${account_id}, ${event}, ${sql.array(ids, 'uuid')}, ${run?.automation_id ?? null}::uuid,
      ${run?.depth ?? null}::integer)
  `)
}
