import type { Foundation } from '#flows/process/run_process.ts'
import { newId } from '#lib/ids.ts'
import type { TestAccount } from '#test/support/world.ts'

/** A recipient of a campaign as sending stores it: `email` with the state of its delivery, or none. */
type RecipientFields = { state: 'p' | 'm' | 'x' | 'c'; reason?: string; email?: { status: string; state: string } }

/** Adds a recipient of run 1 with its email and delivery; returns their ids. */
export async function addRecipient(
  { pool }: Pick<Foundation, 'pool'>,
  { id: account_id, domain_id, domain }: TestAccount,
  campaign_id: string,
  [contact_id, address]: [string, string],
  { state, reason, email }: RecipientFields,
): Promise<string | null> {
  const email_id = email ? newId() : null
  await pool.pg.query(
    `INSERT INTO campaign_recipients (account_id, campaign_id, contact_id, run, email, state, reason, email_id)
     VALUES ($1, $2, $3, 1, $4, $5, $6, $7)`,
    [account_id, campaign_id, contact_id, address, state, reason ?? null, email_id],
  )
  if (!email) return null
  await pool.pg.query(
    `INSERT INTO emails (account_id, id, domain_id, message_id, sender, "to", cc, bcc, reply_to, tags, subject, campaign_id, campaign_run, contact_id,
       status, last_event)
     VALUES ($1, $2, $3, $2::uuid || '@' || $4::text, 'a@' || $4::text, ARRAY[$5], '{}', '{}', '{}', '[]', 'x', $6, 1, $7, $8, $8)`,
    [account_id, email_id, domain_id, domain, address, campaign_id, contact_id, email.status],
  )
  await pool.pg.query(`INSERT INTO email_contents (account_id, email_id, headers) VALUES ($1, $2, '{}')`, [
    account_id,
    email_id,
  ])
  await pool.pg.query(
    `INSERT INTO deliveries (account_id, id, email_id, recipient, destination, priority, campaign_id, state, next_at,
       phase, lease_owner, lease_until)
     SELECT $1, $2, $3, $4, 'b.com', 10, $5, $6::text, CASE WHEN $6::text = 'queued' THEN now() END,
       l.phase, l.owner, l.until
     FROM (SELECT 'pre' AS phase, $2::uuid AS owner, now() + interval '1 hour' AS until) one
     LEFT JOIN LATERAL (SELECT one.*) l ON $6::text = 'sending'`,
    [account_id, newId(), email_id, address, campaign_id, email.state],
  )
  return email_id
}

/** Adds to figures of run 1. */
export async function countFigures(
  { pool }: Pick<Foundation, 'pool'>,
  { id: account_id }: TestAccount,
  campaign_id: string,
  figures: Record<string, number>,
): Promise<void> {
  await pool.pg.query(
    `SELECT count_campaigns(ARRAY(
       SELECT ROW($1::uuid, $2::uuid, 1, 0, f.key, f.value::integer)::campaign_move FROM jsonb_each_text($3::jsonb) f))`,
    [account_id, campaign_id, JSON.stringify(figures)],
  )
}
