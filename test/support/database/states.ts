import type { Foundation } from '#flows/process/run_process.ts'
import { newId } from '#lib/ids.ts'

type World = Pick<Foundation, 'pool'>
type Limits = Partial<
  Record<'emails_per_day' | 'emails_per_month' | 'domains' | 'ai_credits' | 'automation_runs', number | null>
>

/** Puts an account on a plan of its own; what is not given has no limit. */
export async function givePlan(world: World, account: { id: string }, limits: Limits): Promise<void> {
  const name = `plan ${newId()}`
  const plan = JSON.stringify({ name, ...limits })
  await world.pool.pg.query('INSERT INTO plans SELECT * FROM jsonb_populate_record(NULL::plans, $1)', [plan])
  await choosePlan(world, account, name)
}

/** Puts an account on a plan that exists, such as `free`. */
export async function choosePlan({ pool }: World, { id }: { id: string }, plan: string): Promise<void> {
  await pool.pg.query('UPDATE accounts SET plan = $2 WHERE id = $1', [id, plan])
}

/** Suppresses an address by hand, for ever or until a time. */
export async function suppress({ pool }: World, account_id: string, address: string, until?: string): Promise<void> {
  await pool.pg.query(
    `INSERT INTO suppressions (account_id, id, address, reason, expires_at) VALUES ($1, $2, $3, 'manual', $4)`,
    [account_id, newId(), address, until ?? null],
  )
}

/** Makes a domain receive mail, without an MX record. */
export async function startReceiving({ pool }: World, domain_id: string): Promise<void> {
  await pool.pg.query('UPDATE domains SET receiving = true WHERE id = $1', [domain_id])
}

/** Makes all deliveries of an email due now. */
export async function makeDue({ pool }: World, email_id: string): Promise<void> {
  await pool.pg.query('UPDATE deliveries SET next_at = now() WHERE email_id = $1', [email_id])
}

/** Lets the leases of the deliveries of these emails end now, as if their worker had died. */
export async function endLeases({ pool }: World, email_ids: string[]): Promise<void> {
  await pool.pg.query('UPDATE deliveries SET lease_until = now() WHERE email_id = ANY ($1)', [email_ids])
}

/** Makes an email as old as this. */
export async function ageEmail({ pool }: World, email_id: string, hours: number): Promise<void> {
  await pool.pg.query('UPDATE emails SET created_at = now() - make_interval(hours => $2) WHERE id = $1', [
    email_id,
    hours,
  ])
}
