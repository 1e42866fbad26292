import type { Foundation } from '#flows/process/run_process.ts'
import { newId } from '#lib/ids.ts'
import type { Automation } from '#sql/automations/definitions/automation_records.ts'
import type { Api } from './api.ts'
import type { TestAccount } from './world.ts'

type Database = Pick<Foundation, 'pool'>

export type GivenStep = { key: string; type: string; config?: unknown }

/** Steps of a short series: a trigger, a delay and an email. */
export function seriesOf({ domain }: Pick<TestAccount, 'domain'>, event_name = 'user.signed_up'): GivenStep[] {
  return [
    { key: 'start', type: 'trigger', config: { event_name } },
    { key: 'later', type: 'delay', config: { duration: '1 day' } },
    { key: 'hello', type: 'send_email', config: { from: `Ann <ann@${domain}>`, subject: 'Hi', html: '<p>Hi' } },
  ]
}

/** Creates an automation by the API; returns its id. */
export async function createAutomation(api: Api, account: TestAccount, fields: object = {}): Promise<string> {
  const body = { name: 'Welcome', steps: seriesOf(account), ...fields }
  const { status, text, body: answer } = await api.request('POST', '/api/automations', { key: account.key, body })
  if (status !== 201) throw new Error(text)
  return answer.id
}

/** An automation as the API returns it. */
export async function getAutomation(api: Api, id: string): Promise<Omit<Automation, 'created_at' | 'updated_at'>> {
  const { body } = await api.request('GET', `/api/automations/${id}`)
  return body as unknown as Automation
}

type RunFields = { status?: 'running' | 'completed' | 'failed' | 'skipped'; version?: number; contact_id?: string }

/** Adds runs of an automation as rows, oldest first; returns their ids. */
export async function addRuns(
  { pool }: Database,
  { id: account_id, domain_id }: Pick<TestAccount, 'id' | 'domain_id'>,
  automation_id: string,
  runs: RunFields[],
): Promise<string[]> {
  const rows = runs.map(run => ({ status: 'running', version: 1, contact_id: newId(), ...run, id: newId() }))
  await pool.pg.query(
    `INSERT INTO automation_runs (account_id, id, automation_id, version, domain_id, contact_id, contact_email, status, due_at,
       completed_at)
     SELECT $1, r.id, $2, r.version, $3, r.contact_id, 'ann@b.com', r.status,
       CASE WHEN r.status = 'running' THEN now() + interval '1 day' END, CASE WHEN r.status <> 'running' THEN now() END
     FROM json_to_recordset($4) AS r(id uuid, version integer, contact_id uuid, status text)`,
    [account_id, automation_id, domain_id, JSON.stringify(rows)],
  )
  return rows.map(({ id }) => id)
}

/** Events that start an automation. */
export async function triggersOf(
  { pool }: Database,
  automation_id: string,
): Promise<{ domain_id: string; event: string }[]> {
  const { rows } = await pool.pg.query(
    'SELECT domain_id, event FROM automation_triggers WHERE automation_id = $1 ORDER BY event',
    [automation_id],
  )
  return rows
}

/** Versions of an automation with the keys of their steps, oldest first. */
export async function versionsOf(
  { pool }: Database,
  automation_id: string,
): Promise<{ version: number; keys: string[] }[]> {
  const { rows } = await pool.pg.query(
    `SELECT version, ARRAY(SELECT s ->> 'key' FROM jsonb_array_elements(graph -> 'steps') AS s) AS keys
     FROM automation_versions WHERE automation_id = $1 ORDER BY version`,
    [automation_id],
  )
  return rows
}
