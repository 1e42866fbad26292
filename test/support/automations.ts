import type { Foundation } from '#flows/process/run_process.ts'
import { newId } from '#lib/ids.ts'
import type { TestAccount } from './world.ts'

type Database = Pick<Foundation, 'pool'>

type AutomationFields = {
  trigger?: string
  reentry?: 'always' | 'while_not_running' | 'once'
  status?: 'enabled' | 'disabled'
  /** Events that its steps wait for, one after the other. */
  waits?: string[]
}

/** An automation of the domain of an account, by its rows; returns its id. */
export async function makeAutomation(
  { pool: { pg } }: Database,
  account: Pick<TestAccount, 'id' | 'domain_id'>,
  { trigger = 'signed.up', reentry = 'always', status = 'enabled', waits = [] }: AutomationFields = {},
): Promise<string> {
  const id = newId()
  const steps = [
    { key: 'start', type: 'trigger', config: { event_name: trigger } },
    ...waits.map((event_name, n) => ({ key: `wait_${n}`, type: 'wait_for_event', config: { event_name } })),
  ]
  const graph = {
    steps: steps.map((step, n) => ({
      ...step,
      id: newId(),
      next: n + 1 === steps.length ? {} : { [n === 0 ? 'default' : 'event_received']: n + 1 },
    })),
  }
  await pg.query(
    `INSERT INTO automations (account_id, id, domain_id, name, status, reentry) VALUES ($1, $2, $3, 'Welcome', $4, $5)`,
    [account.id, id, account.domain_id, status, reentry],
  )
  await pg.query('INSERT INTO automation_versions (account_id, automation_id, version, graph) VALUES ($1, $2, 1, $3)', [
    ...[account.id, id, JSON.stringify(graph)],
  ])
  if (status === 'enabled') {
    await pg.query(
      'INSERT INTO automation_triggers (account_id, domain_id, event, automation_id) VALUES ($1, $2, $3, $4)',
      [account.id, account.domain_id, trigger, id],
    )
  }
  return id
}

export type StoredRun = {
  id: string
  contact_email: string
  status: string
  payload: object
  depth: number
  since_event: string
  is_due: boolean
}

/** Runs of an automation, oldest first. */
export async function runsOf({ pool: { pg } }: Database, automation_id: string): Promise<StoredRun[]> {
  const { rows } = await pg.query(
    `SELECT id, contact_email, status, payload, depth, since_event, due_at <= now() AS is_due FROM automation_runs
     WHERE automation_id = $1 ORDER BY id`,
    [automation_id],
  )
  return rows
}
/** How many contacts did not enter an automation because of a limit. */
export async function limitedOf({ pool: { pg } }: Database, automation_id: string): Promise<number> {
  const { rows } = await pg.query('SELECT limited::integer FROM automations WHERE id = $1', [automation_id])
  return rows[0].limited
}

/** Lets a run wait for an event, as a worker leaves it; returns after its commit. */
export async function letWait({ pool: { pg } }: Database, run_id: string, event: string): Promise<void> {
  await pg.query(
    `UPDATE automation_runs SET step = 1, wait_event = $2, due_at = now() + interval '1 day' WHERE id = $1`,
    [...[run_id, event]],
  )
}
