import { z } from 'zod'
import { DomainStatus, type NextDomainState } from '#lib/domains/domain_status.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { Capabilities, capabilities } from './columns.ts'

/** Fields of a domain that its verification needs. */
export const DomainToVerify = z.object({
  account_id: z.string(),
  id: z.string(),
  name: z.string(),
  status: DomainStatus,
  is_trusted: z.boolean(),
  window_since: z.date().nullable(),
  verified_at: z.date().nullable(),
  return_path_verified: z.boolean(),
  capabilities: Capabilities,
  open_tracking: z.boolean(),
  click_tracking: z.boolean(),
  tracking_subdomain: z.string().nullable(),
  custom_return_path: z.string(),
})
export type DomainToVerify = z.infer<typeof DomainToVerify>

const columns = sql.fragment`
  account_id, id, name, status, is_trusted, window_since, verified_at, return_path_verified, ${capabilities},
  open_tracking, click_tracking, tracking_subdomain, custom_return_path
`

export async function findDomainToVerify(
  db: Queryable,
  account_id: string,
  id: string,
): Promise<DomainToVerify | null> {
  return db.maybeOne(sql.type(DomainToVerify)`
    SELECT ${columns} FROM domains WHERE account_id = ${account_id} AND id = ${id}
  `)
}

export async function lockDomainToVerify(tx: Tx, account_id: string, id: string): Promise<DomainToVerify | null> {
  return tx.maybeOne(sql.type(DomainToVerify)`
    SELECT ${columns} FROM domains WHERE account_id = ${account_id} AND id = ${id} FOR NO KEY UPDATE
  `)
}

export async function updateDomainState(
  tx: Tx,
  { account_id, id }: { account_id: string; id: string },
  state: NextDomainState,
): Promise<void> {
  const time = (date: Date | null) => date?.toISOString() ?? null
  await tx.run(sql.unsafe`
    UPDATE domains SET status = ${state.status}, window_since = ${time(state.window_since)},
      check_at = ${time(state.check_at)}, verified_at = ${time(state.verified_at)},
      return_path_verified = ${state.return_path_verified},
      updated_at = CASE WHEN status = ${state.status} THEN updated_at ELSE now() END
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

const DomainId = z.object({ account_id: z.string(), id: z.string() })

/** Takes domains whose check is due. They are due again after 15 minutes, in case the jobs added for them are lost. */
export async function takeDomainsToCheck(tx: Tx, limit: number): Promise<z.infer<typeof DomainId>[]> {
  return tx.any(sql.type(DomainId)`
    WITH due AS MATERIALIZED (
      SELECT account_id, id FROM domains WHERE check_at <= now()
      ORDER BY check_at LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE domains d SET check_at = now() + interval '15 minutes' FROM due
    WHERE d.account_id = due.account_id AND d.id = due.id RETURNING d.account_id, d.id
  `)
}
