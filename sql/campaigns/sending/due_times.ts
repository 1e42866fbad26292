import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'
import type { Run, RunId } from './runs.ts'

/** Times at which recipients get their email: per time zone, and for all other zones. */
export type DueTimes = { other: string; zones: { name: string; at: string }[] }

const Zone = z.object({ timezone: z.string().nullable() })

/** Returns rows with `name` and `at`, one per zone. */
export function zoneRows({ zones }: DueTimes) {
  return sql.fragment`json_to_recordset(${JSON.stringify(zones)}::json) AS z(name text, at timestamptz)`
}

/** Selects the contacts that a run looks at next, in the order of ids. */
export function contactsAhead({ account_id, domain_id, cursor }: Run, limit: number) {
  const from = cursor === null ? sql.fragment`true` : sql.fragment`w.id > ${cursor}`
  return sql.fragment`
    SELECT w.* FROM contacts w WHERE w.account_id = ${account_id} AND w.domain_id = ${domain_id} AND ${from}
    ORDER BY w.id LIMIT ${limit}`
}

/** Lists the time zones of the contacts that a run looks at next. */
export async function listZonesAhead(tx: Tx, run: Run, limit: number): Promise<string[]> {
  const rows = await tx.any(sql.type(Zone)`SELECT DISTINCT c.timezone FROM (${contactsAhead(run, limit)}) c`)
  return namesOf(rows)
}

/** Selects recipients who wait for the winner of an A/B test. */
function waiting({ account_id, campaign_id, run }: RunId, limit: number) {
  return sql.fragment`
    SELECT * FROM campaign_recipients r
    WHERE r.account_id = ${account_id} AND r.campaign_id = ${campaign_id} AND r.run = ${run} AND r.state = 'p'
      AND r.due_at = 'infinity' ORDER BY r.contact_id LIMIT ${limit}`
}

/** Lists the time zones of recipients who wait for the winner; null if nobody waits. */
export async function listWaitingZones(tx: Tx, run: RunId, limit: number): Promise<string[] | null> {
  const rows = await tx.any(sql.type(Zone)`
    SELECT DISTINCT c.timezone FROM (${waiting(run, limit)}) r
    LEFT JOIN contacts c ON c.account_id = r.account_id AND c.id = r.contact_id
  `)
  return rows.length === 0 ? null : namesOf(rows)
}

/** Schedules waiting recipients by the times of their zones; returns how many. */
export async function releaseWaiting(tx: Tx, run: RunId, times: DueTimes, limit: number): Promise<number> {
  return tx.run(sql.unsafe`
    UPDATE campaign_recipients r SET due_at = coalesce(z.at, ${times.other}::timestamptz)
    FROM (${waiting(run, limit)}) w
    LEFT JOIN contacts c ON c.account_id = w.account_id AND c.id = w.contact_id
    LEFT JOIN ${zoneRows(times)} ON z.name = c.timezone
    WHERE r.account_id = w.account_id AND r.campaign_id = w.campaign_id AND r.run = w.run AND r.contact_id = w.contact_id
  `)
}

function namesOf(rows: z.infer<typeof Zone>[]): string[] {
  return rows.flatMap(({ timezone }) => timezone ?? [])
}
