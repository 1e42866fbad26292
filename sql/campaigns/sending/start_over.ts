import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'
import type { Run } from './runs.ts'

const Back = z.object({ cursor: z.string().nullable(), recipients: z.int(), excluded: z.int() })

/**
 * Deletes the recipients of a run that were found among the last `limit` contacts up to its cursor; returns where the cursor was
 * before these contacts, and how many recipients are gone. None of them may have an email yet.
 */
export async function goBack(tx: Tx, this_run: Run, limit: number): Promise<z.infer<typeof Back>> {
  const { account_id, campaign_id, run, domain_id, cursor } = this_run
  return tx.one(sql.type(Back)`
    WITH back AS MATERIALIZED (
      SELECT (
        SELECT w.id FROM contacts w WHERE w.account_id = ${account_id} AND w.domain_id = ${domain_id} AND w.id <= ${cursor}
        ORDER BY w.id DESC OFFSET ${limit} LIMIT 1
      ) AS cursor
    ), gone AS (
      DELETE FROM campaign_recipients r USING back
      WHERE r.account_id = ${account_id} AND r.campaign_id = ${campaign_id} AND r.run = ${run} AND r.contact_id <= ${cursor}
        AND r.contact_id > coalesce(back.cursor, '00000000-0000-0000-0000-000000000000')
      RETURNING r.state
    )
    SELECT (SELECT cursor FROM back) AS cursor, count(*) AS recipients, count(*) FILTER (WHERE state = 'x') AS excluded FROM gone
  `)
}
