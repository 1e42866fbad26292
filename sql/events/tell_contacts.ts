import { sql, type Tx } from '#sql/pool.ts'

/** The run that changed a contact: its automation does not start by that, and events of it are one deeper. */
export type CausingRun = { automation_id: string; depth: number }

/**
 * Starts and wakes automations by events of contacts of an account, in the commit of what they tell of
 * (tell_automations.sql). Call it while the contacts are there.
 */
export async function tellContacts(
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
