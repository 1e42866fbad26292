import type { Foundation } from '#flows/process/run_process.ts'
import type { Figures } from '#lib/sending/metrics/names.ts'
import type { TestAccount } from './world.ts'

type Move = { name: keyof Figures; by?: number; at: Date; domain_id?: string; campaign_id?: string }

/** Adds to the metrics of an account, like events at these times. */
export async function countMetrics(
  { pool }: Pick<Foundation, 'pool'>,
  account: TestAccount,
  moves: Move[],
): Promise<void> {
  const rows = moves.map(move => ({ account_id: account.id, domain_id: account.domain_id, by: 1, ...move }))
  await pool.pg.query(
    'SELECT count_metrics(ARRAY(SELECT m FROM json_populate_recordset(NULL::metric_move, $1) AS m))',
    [JSON.stringify(rows)],
  )
}

/** The metrics of a row that are not 0, without rates. */
export function countsIn(row: object = {}): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name, value]) => value !== 0 && !name.endsWith('_rate')))
}

type ByQuarter = Record<string, Figures>

/** The metrics of an account per quarter hour, as counted. */
export async function readCounters({ pool }: Pick<Foundation, 'pool'>, account: TestAccount): Promise<ByQuarter> {
  const { rows } = await pool.pg.query(
    `SELECT quarter, name, sum(value::integer)::integer AS count FROM email_metrics m
     CROSS JOIN jsonb_each_text(to_jsonb(m) - ARRAY['account_id', 'quarter', 'domain_id', 'campaign_id', 'shard']) AS f(name, value)
     WHERE account_id = $1 GROUP BY quarter, name HAVING sum(value::integer) <> 0 ORDER BY quarter, name`,
    [account.id],
  )
  return byQuarter(rows)
}

/** The same metrics, computed from the rows of deliveries, events and hits. */
export async function readRecorded({ pool }: Pick<Foundation, 'pool'>, account: TestAccount): Promise<ByQuarter> {
  const { rows } = await pool.pg.query(
    `WITH reached AS (
       SELECT d.state, min(v.created_at) AS at FROM deliveries d
       JOIN email_events v ON v.email_id = d.email_id AND v.recipient = d.recipient AND v.type IN ('delivered', 'complained')
       WHERE d.account_id = $1 GROUP BY d.id, d.state
     ), hits AS (
       SELECT delivery_id, type, created_at AS at FROM tracking_hits WHERE account_id = $1 AND class IN ('human', 'proxy')
     ), counted AS (
       SELECT at, 'sent' AS name FROM reached
       UNION ALL SELECT at, 'delivered' FROM reached WHERE state = 'delivered'
       UNION ALL
       SELECT min(created_at), CASE type
         WHEN 'bounced' THEN 'bounced_' || lower(coalesce(min(data -> 'bounce' ->> 'type'), 'undetermined')) ELSE type END
       FROM email_events WHERE account_id = $1
         AND type IN ('bounced', 'failed', 'suppressed', 'complained', 'delivery_delayed', 'unsubscribed')
       GROUP BY email_id, recipient, type
       UNION ALL SELECT at, CASE type WHEN 'open' THEN 'opened' ELSE 'clicked' END FROM hits
       UNION ALL SELECT min(at), 'unique_opened' FROM hits GROUP BY delivery_id
       UNION ALL SELECT min(at), 'unique_clicked' FROM hits WHERE type = 'click' GROUP BY delivery_id
       UNION ALL SELECT min(at), 'opened' FROM hits GROUP BY delivery_id HAVING bool_and(type = 'click')
     )
     SELECT quarter_of(at) AS quarter, name, count(*)::integer AS count FROM counted GROUP BY 1, 2 ORDER BY 1, 2`,
    [account.id],
  )
  return byQuarter(rows)
}

/** The same metrics as GET /emails/metrics returns them with `email_id`. */
export async function readSingle({ pool }: Pick<Foundation, 'pool'>, account: TestAccount): Promise<ByQuarter> {
  const { rows } = await pool.pg.query(
    `SELECT quarter_of(m.at) AS quarter, m.name, sum(m.by)::integer AS count
     FROM metrics_of_emails($1, ARRAY(SELECT id FROM emails WHERE account_id = $1)) AS m GROUP BY 1, 2 ORDER BY 1, 2`,
    [account.id],
  )
  return byQuarter(rows)
}

function byQuarter(rows: { quarter: Date; name: string; count: number }[]): ByQuarter {
  const quarters: Record<string, Record<string, number>> = {}
  for (const { quarter, name, count } of rows) {
    quarters[quarter.toISOString()] = { ...quarters[quarter.toISOString()], [name]: count }
  }
  return quarters
}
