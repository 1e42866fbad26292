import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

const LimitedAccount = z.object({ account_id: z.string(), limited: z.int() })

/**
 * Lists accounts whose quota for runs was used up in the hour before this one, with the number of runs that were not
 * started.
 */
export async function listLimitedAccounts(db: Queryable): Promise<z.infer<typeof LimitedAccount>[]> {
  return db.any(sql.type(LimitedAccount)`
    SELECT account_id, limited FROM automation_usage
    WHERE hour = date_trunc('hour', now() - interval '1 hour', 'UTC') AND limited > 0 ORDER BY account_id
  `)
}
