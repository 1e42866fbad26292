import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'
import type { Draft } from './drafts.ts'
import { Fault, FaultDetail } from './faults.ts'

const Judged = z.object({
  fault: Fault.nullable(),
  detail: FaultDetail.nullable(),
  /** Addresses that it would not be sent to, since they are suppressed, reserved, or not subscribed to its topic. */
  dropped: z.array(z.string()),
})

/** Judges a draft as if it were accepted now, including quotas (judge_drafts.sql). Stores and counts nothing. */
export async function judgeDraft(tx: Tx, draft: Draft): Promise<z.infer<typeof Judged>> {
  const given = JSON.stringify([{ ...draft, position: 0, refusal: null }])
  return tx.one(sql.type(Judged)`
    SELECT j.faults[1] AS fault, explain_fault(j.faults[1], ${draft.account_id}, ${draft.domain}, (
        SELECT count(*)::integer FROM unnest((g.drafts)[1].recipients) AS r WHERE r.id <> ALL (j.dropped)
      )) AS detail,
      ARRAY(SELECT r.recipient FROM unnest((g.drafts)[1].recipients) AS r WHERE r.id = ANY (j.dropped)) AS dropped
    FROM (SELECT ARRAY(SELECT d FROM json_populate_recordset(NULL::draft, ${given}::json) AS d) AS drafts) g
    CROSS JOIN LATERAL judge_drafts(g.drafts, lock_usage(ARRAY[${draft.account_id}::uuid]), '{}') AS j
  `)
}
