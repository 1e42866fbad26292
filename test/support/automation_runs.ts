import type { Foundation } from '#flows/process/run_process.ts'
import { buildGraph, connectionsOf, type Graph } from '#lib/automations/graph.ts'
import { type ConnectionType, NewStep, type Step } from '#lib/automations/new_step.ts'
import { newId } from '#lib/ids.ts'
import { parse } from '#lib/json/parse.ts'
import type { TestAccount } from './world.ts'

type Database = Pick<Foundation, 'pool'>

/** A step as a caller writes it. The default key is the type. */
export type TestStep = { key?: string; type: string; config?: object }
/** `['wait', 'reply', 'event_received']` */
export type TestConnection = [from: string, to: string, type?: ConnectionType]

/** A step that waits for an event without a timeout. */
export function waitFor(event_name: string): TestStep {
  return { type: 'wait_for_event', config: { event_name } }
}

/** A graph that begins with an event. Without connections, its steps follow each other. */
export function graphOf(steps: TestStep[], connections?: TestConnection[], event_name = 'signed.up'): Graph {
  const all = [{ key: 'start', type: 'trigger', config: { event_name } }, ...steps]
  const given = all.map(({ key, type, config = {} }) => parse(NewStep, { key: key ?? type, type, config }))
  const inTurn = given.slice(1).map(({ key: to }, n) => {
    const { key: from, type } = given[n] as Step
    return { from, to, type: connectionsOf(type)[0] ?? 'default' }
  })
  const links = connections?.map(([from, to, type = 'default']) => ({ from, to, type }))
  return buildGraph(given, links ?? inTurn, newId)
}

type Fields = {
  trigger?: string
  reentry?: 'always' | 'while_not_running' | 'once'
  status?: 'enabled' | 'disabled'
  purpose?: 'marketing' | 'transactional'
  connections?: TestConnection[]
}

/** Stores an automation for the domain of an account as rows; returns its id. */
export async function storeAutomation(
  { pool: { pg } }: Database,
  { id: account_id, domain_id }: Pick<TestAccount, 'id' | 'domain_id'>,
  steps: TestStep[] = [],
  { trigger = 'signed.up', reentry = 'always', status = 'enabled', purpose = 'marketing', connections }: Fields = {},
): Promise<string> {
  const id = newId()
  await pg.query(
    `INSERT INTO automations (account_id, id, domain_id, name, status, reentry, purpose) VALUES ($1, $2, $3, 'Welcome', $4, $5, $6)`,
    [account_id, id, domain_id, status, reentry, purpose],
  )
  await pg.query('INSERT INTO automation_versions (account_id, automation_id, version, graph) VALUES ($1, $2, 1, $3)', [
    ...[account_id, id, JSON.stringify(graphOf(steps, connections, trigger))],
  ])
  if (status === 'enabled') {
    await pg.query(
      'INSERT INTO automation_triggers (account_id, domain_id, event, automation_id) VALUES ($1, $2, $3, $4)',
      [account_id, domain_id, trigger, id],
    )
  }
  return id
}

/** Stores a run for each contact, like one started by an event; returns their ids. */
export async function startRuns(
  { pool: { pg } }: Database,
  { id: account_id, domain_id }: Pick<TestAccount, 'id' | 'domain_id'>,
  automation_id: string,
  contact_ids: string[],
  payload: object = {},
): Promise<string[]> {
  const rows = contact_ids.map(contact_id => ({ id: newId(), contact_id, since_event: newId() }))
  await pg.query(
    `INSERT INTO automation_runs (account_id, id, automation_id, version, domain_id, contact_id, contact_email, since_event, payload)
     SELECT $1, n.id, $2, 1, $3, n.contact_id, coalesce(c.email, ''), n.since_event, $5
     FROM json_to_recordset($4) AS n(id uuid, contact_id uuid, since_event uuid)
     LEFT JOIN contacts c ON c.account_id = $1 AND c.id = n.contact_id`,
    [account_id, automation_id, domain_id, JSON.stringify(rows), JSON.stringify(payload)],
  )
  return rows.map(({ id }) => id)
}

/** Runs are created in sets of this size. */
const BATCH = 5_000

/**
 * Creates `count` runs, each of a new contact, that wait in the first step of version 1, a delay. `due` is an SQL expression for
 * the end of the delay; `p.email` in it is the address of the contact.
 */
export async function fillRuns(
  { pool: { pg } }: Database,
  { id: account_id, domain_id }: Pick<TestAccount, 'id' | 'domain_id'>,
  automation_id: string,
  count: number,
  due: string,
): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    await pg.query(
      `WITH people AS (
         INSERT INTO contacts (account_id, id, domain_id, email, source)
         SELECT $1, ordered_id(id_time(now()), n, random_tail()), $2, $3 || n || '@b.com', 'api' FROM generate_series($5::int, $6) AS n
         RETURNING id, email
       ), runs AS (
         INSERT INTO automation_runs (account_id, id, automation_id, version, domain_id, contact_id, contact_email, step, seq,
           due_at, wait_until)
         SELECT $1, p.id, $4, 1, $2, p.id, p.email, 1, 1, d.at, d.at
         FROM people p CROSS JOIN LATERAL (SELECT p.id, ${due} AS at) d RETURNING id
       )
       INSERT INTO automation_run_steps (account_id, run_id, seq, step, status) SELECT $1, id, 1, 1, 'waiting' FROM runs`,
      [account_id, domain_id, newId(), automation_id, from, Math.min(from + BATCH, count) - 1],
    )
  }
}

/** A run with its steps, as stored. */
export async function readRun({ pool: { pg } }: Database, id: string) {
  const { rows } = await pg.query('SELECT * FROM automation_runs WHERE id = $1', [id])
  const { rows: steps } = await pg.query(
    'SELECT seq, step, status, output, error FROM automation_run_steps WHERE run_id = $1 ORDER BY seq',
    [id],
  )
  return { ...rows[0], steps }
}

/** Makes waiting runs due, as if this much time had passed. */
export async function passTime({ pool: { pg } }: Database, run_id: string, interval: string): Promise<void> {
  await pg.query(
    `UPDATE automation_runs SET due_at = due_at - $2::interval, wait_until = wait_until - $2::interval,
       refused_since = refused_since - $2::interval WHERE id = $1`,
    [run_id, interval],
  )
}
