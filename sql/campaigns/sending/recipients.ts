import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'
import { PLAN_HINTS } from '#sql/segments/plan_hints.ts'
import { variantOf } from '../ab/variant_of.ts'
import { type Addressed, isAddressed, leftOut } from '../addressed.ts'
import { ContactValues, contactValues } from '../contact_values.ts'
import { sentTo } from '../counts.ts'
import { contactsAhead, type DueTimes, zoneRows } from './due_times.ts'
import type { Run, RunId } from './runs.ts'

const Found = z.object({ last: z.string().nullable(), looked: z.int(), inserted: z.int(), excluded: z.int() })

const NO_ZONES: DueTimes = { other: '', zones: [] }

/**
 * Looks at the next `limit` contacts of the domain, in the order of ids, and stores those that the campaign addresses.
 * Contacts that get no email have a row too, with the reason. Contacts who are unsubscribed or not subscribed to the
 * topic have no row, since a topic with few subscribers would otherwise store everybody else at each run; nor have
 * contacts that were added after the start. While the domain warms up, contacts who opened or clicked last are due
 * first: mailbox providers judge a new sender by its first mail.
 */
export async function insertRecipients(
  tx: Tx,
  this_run: Run,
  addressed: Addressed,
  times: DueTimes | null,
  limit: number,
): Promise<z.infer<typeof Found>> {
  const { account_id, campaign_id, run, domain_id, ab_test } = this_run
  return tx.one(sql.type(Found)`
    WITH run AS MATERIALIZED (
      SELECT u.created_at, (find_warm_up(${account_id}, ${domain_id})).since IS NOT NULL AS is_warming FROM campaign_runs u
      WHERE u.account_id = ${account_id} AND u.campaign_id = ${campaign_id} AND u.run = ${run}
    ), looked AS MATERIALIZED (
      ${contactsAhead(this_run, limit)}
    ), found AS MATERIALIZED ( -- otherwise the reason is computed again wherever it is used
      SELECT c.id, c.email, ${leftOut(addressed, PLAN_HINTS.forFew)} AS reason, CASE
          WHEN ${times !== null} THEN coalesce(z.at, ${times?.other ?? null}::timestamptz)
          WHEN run.is_warming THEN run.created_at - coalesce((
            SELECT interval '1 day' / (1 + extract(epoch FROM now() - greatest(e.last_opened_at, e.last_clicked_at)) / 86400)
            FROM contact_engagement e WHERE e.account_id = c.account_id AND e.contact_id = c.id), '0')
          ELSE now() END AS due_at, v.variant
      FROM looked c CROSS JOIN run CROSS JOIN LATERAL (SELECT ${variantOf(campaign_id, ab_test)} AS variant) v
      LEFT JOIN ${zoneRows(times ?? NO_ZONES)} ON z.name = c.timezone
      WHERE ${isAddressed(addressed, PLAN_HINTS.forFew)} AND c.created_at <= run.created_at
    ), inserted AS (
      INSERT INTO campaign_recipients (account_id, campaign_id, run, contact_id, email, state, reason, variant, due_at)
      SELECT ${account_id}::uuid, ${campaign_id}::uuid, ${run}::integer, f.id, f.email,
        CASE WHEN f.reason IS NULL THEN 'p' ELSE 'x' END::"char", f.reason, coalesce(f.variant, 0),
        CASE WHEN f.variant IS NULL THEN 'infinity' ELSE f.due_at END
      FROM found f WHERE f.reason IS NULL OR f.reason NOT IN ('unsubscribed', 'not_subscribed_to_topic')
      RETURNING state
    )
    SELECT (SELECT id FROM looked ORDER BY id DESC LIMIT 1) AS last, (SELECT count(*) FROM looked) AS looked,
      (SELECT count(*) FROM inserted) AS inserted, (SELECT count(*) FROM inserted WHERE state = 'x') AS excluded
  `)
}

/** Moves the cursor of the run; null: to before the first contact. `is_found`: there are no more contacts. */
export async function updateCursor(
  tx: Tx,
  { account_id, campaign_id, run }: RunId,
  cursor: string | null,
  is_found: boolean,
): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaign_runs SET cursor = ${cursor}, found_at = CASE WHEN ${is_found}::boolean THEN now() END
    WHERE account_id = ${account_id} AND campaign_id = ${campaign_id} AND run = ${run}
  `)
  if (!is_found) return
  await tx.run(sql.unsafe`
    UPDATE campaigns g SET updated_at = now(), recipients_count = ${sentTo(sql.fragment`g.account_id, g.id, ${run}`)}
    WHERE g.account_id = ${account_id} AND g.id = ${campaign_id}
  `)
}

const Pending = ContactValues.extend({
  contact_id: z.string(),
  variant: z.int(),
  /** Why it gets no email after all. */
  reason: z.enum(['deleted', 'unsubscribed', 'not_subscribed_to_topic']).nullable(),
})
export type PendingRecipient = z.infer<typeof Pending>

/**
 * Locks the next recipients whose email is due, with the current state of their contacts. Recipients of one mail domain
 * are spread out, so that a slow domain does not take up all deliveries in progress. `keys`: the properties to read.
 */
export async function lockPending(
  tx: Tx,
  { account_id, campaign_id, run, topic_id, decided_variant, send_in_local_time }: Run,
  limit: number,
  keys: string[],
): Promise<PendingRecipient[]> {
  const isOutside =
    topic_id === null
      ? sql.fragment`false`
      : sql.fragment`(
        SELECT NOT s.is_subscribed FROM topic_subscription(c.account_id, c.domain_id, c.email, ${topic_id}) AS s)`
  return tx.any(sql.type(Pending)`
    SELECT r.contact_id, coalesce(nullif(r.variant, 0), ${decided_variant}, 0) AS variant,
      ${contactValues(account_id, keys)},
      CASE
        WHEN c.id IS NULL THEN 'deleted'
        WHEN c.unsubscribed THEN 'unsubscribed'
        WHEN ${isOutside} THEN 'not_subscribed_to_topic'
      END AS reason
    FROM (
      SELECT * FROM campaign_recipients r
      WHERE r.account_id = ${account_id} AND r.campaign_id = ${campaign_id} AND r.run = ${run} AND r.state = 'p'
        AND r.due_at <= ${decided_variant === null || send_in_local_time ? sql.fragment`now()` : sql.fragment`'infinity'`}
      ORDER BY r.due_at, r.contact_id LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ) r
    LEFT JOIN contacts c ON c.account_id = r.account_id AND c.id = r.contact_id
    ORDER BY row_number() OVER (PARTITION BY split_part(c.email, '@', 2) ORDER BY r.due_at, r.contact_id),
      r.due_at, r.contact_id
  `)
}

/** The decision about a recipient: its email is stored, or it gets none for a reason. */
export type Decided = { contact_id: string; variant: number; email_id: string | null; reason: string | null }

/** Stores decisions about recipients that the transaction has locked. */
export async function updateRecipients(
  tx: Tx,
  { account_id, campaign_id, run }: RunId,
  decided: Decided[],
): Promise<void> {
  // Looked up one by one; they are locked, so they stay in place. Otherwise Postgres, which believes that a run is small,
  // compares every row with every other.
  await tx.run(sql.unsafe`
    UPDATE campaign_recipients r SET email_id = d.email_id, reason = d.reason, variant = d.variant,
      state = CASE WHEN d.email_id IS NULL THEN 'x' ELSE 'm' END::"char"
    FROM json_to_recordset(${JSON.stringify(decided)}::json) AS d(contact_id uuid, variant smallint, email_id uuid, reason text)
    CROSS JOIN LATERAL (
      SELECT k.ctid AS place FROM campaign_recipients k WHERE k.account_id = ${account_id} AND k.campaign_id = ${campaign_id}
        AND k.contact_id = d.contact_id AND k.run = ${run} OFFSET 0
    ) k
    WHERE r.ctid = k.place
  `)
}
