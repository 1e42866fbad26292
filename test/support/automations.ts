import type { Foundation } from '#flows/process/run_process.ts'

type Database = Pick<Foundation, 'pool'>

export type StoredRun = {
  id: string
  contact_email: string
  status: string
  payload: object
  depth: number
  since_event: string
  is_due: boolean
}

/** The runs of an automation, oldest first. */
export async function runsOf({ pool: { pg } }: Database, automation_id: string): Promise<StoredRun[]> {
  const { rows } = await pg.query(
    `SELECT id, contact_email, status, payload, depth, since_event, due_at <= now() AS is_due FROM automation_runs
     WHERE automation_id = $1 ORDER BY id`,
    [automation_id],
  )
  return rows
}

/** The number of contacts that did not enter an automation because of a limit. */
export async function limitedOf({ pool: { pg } }: Database, automation_id: string): Promise<number> {
  const { rows } = await pg.query('SELECT limited::integer FROM automations WHERE id = $1', [automation_id])
  return rows[0].limited
}

/** Makes a run wait for an event, like a worker; returns after its commit. */
export async function letWait({ pool: { pg } }: Database, run_id: string, event: string): Promise<void> {
  await pg.query(
    `UPDATE automation_runs SET step = 1, wait_event = $2, due_at = now() + interval '1 day' WHERE id = $1`,
    [...[run_id, event]],
  )
}
