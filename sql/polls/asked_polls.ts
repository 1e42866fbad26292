import { z } from 'zod'
import { newId } from '#lib/ids.ts'
import { PollForm } from '#lib/polls/new_poll.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** One recipient of an email, by its delivery. */
type Recipient = { account_id: string; delivery_id: string }

/** A poll as one recipient sees it. `answer`: the key of the stored option; null: none yet. */
const AskedPoll = z.object({
  question: z.string(),
  options: PollForm.shape.options,
  is_test: z.boolean(),
  answer: z.string().nullable(),
  domain: z.string(),
  brand_name: z.string().nullable(),
  brand_color: z.string().nullable(),
  brand_logo_url: z.string().nullable(),
})
export type AskedPoll = z.infer<typeof AskedPoll>

/** Returns null if the email has no poll, or was erased, or its domain no longer exists. */
export async function findAskedPoll(db: Queryable, { account_id, delivery_id }: Recipient): Promise<AskedPoll | null> {
  return db.maybeOne(sql.prepared('find_asked_poll', AskedPoll)`
    SELECT p.question, p.options, p.is_test, a.option AS answer, o.name AS domain,
      coalesce(o.brand_name, u.brand_name) AS brand_name, coalesce(o.brand_color, u.brand_color) AS brand_color,
      coalesce(o.brand_logo_url, u.brand_logo_url) AS brand_logo_url
    FROM deliveries d
    JOIN email_contents m ON m.account_id = d.account_id AND m.email_id = d.email_id
    JOIN polls p ON p.account_id = m.account_id AND p.id = m.poll_id
    JOIN domains o ON o.account_id = p.account_id AND o.id = p.domain_id
    JOIN accounts u ON u.id = p.account_id
    LEFT JOIN poll_answers a ON a.account_id = d.account_id AND a.delivery_id = d.id
    WHERE d.account_id = ${account_id} AND d.id = ${delivery_id}
  `)
}

/** Stores an answer (answer_poll.sql). */
export async function storeAnswer(
  db: Queryable,
  { account_id, delivery_id }: Recipient,
  option: string,
): Promise<boolean> {
  const { is_stored } = await db.one(sql.prepared('answer_poll', z.object({ is_stored: z.boolean() }))`
    SELECT answer_poll(${account_id}, ${delivery_id}, ${option}) AS is_stored
  `)
  return is_stored
}

/**
 * Removes the answers that an address (in lower case) gave through emails that others got as well (answer_poll.sql).
 */
export async function withdrawAnswers(
  db: Queryable,
  account_id: string,
  email_ids: string[],
  address: string,
): Promise<void> {
  await db.run(sql.unsafe`SELECT withdraw_answers(${account_id}, ${sql.array(email_ids, 'uuid')}, ${address})`)
}

type CampaignPoll = { account_id: string; id: string; domain_id: string; campaign_id: string }

/** The poll of the emails of a step. `fingerprint`: of its content. `subject`: of these emails, as in the step. */
export type StepPoll = PollForm & {
  fingerprint: string
  domain_id: string
  automation_id: string
  step: string
  subject: string
}

/** Stores polls that are not stored yet, except those of a deleted automation. Returns their ids by fingerprint. */
export async function storeStepPolls(tx: Tx, account_id: string, polls: StepPoll[]): Promise<Map<string, string>> {
  const rows = [...polls]
    .sort((a, b) => (a.fingerprint < b.fingerprint ? -1 : 1)) // two statements in different order would deadlock
    .map(poll => ({ ...poll, id: newId() }))
  const fingerprints = sql.array(
    rows.map(({ fingerprint }) => fingerprint),
    'uuid',
  )
  await tx.run(sql.unsafe`
    INSERT INTO polls (account_id, id, domain_id, automation_id, step, subject, fingerprint, question, options)
    SELECT a.account_id, p.id, p.domain_id, a.id, p.step, p.subject, p.fingerprint, p.question, p.options
    FROM json_to_recordset(${JSON.stringify(rows)}::json) AS p(id uuid, domain_id uuid, automation_id uuid, step text,
      subject text, fingerprint uuid, question text, options jsonb)
    JOIN automations a ON a.account_id = ${account_id} AND a.id = p.automation_id
    WHERE NOT EXISTS (SELECT FROM polls k WHERE k.account_id = a.account_id AND k.fingerprint = p.fingerprint)
    ORDER BY p.fingerprint ON CONFLICT (account_id, fingerprint) WHERE fingerprint IS NOT NULL DO NOTHING
  `)
  const stored = await tx.any(sql.type(z.object({ id: z.string(), fingerprint: z.string() }))`
    SELECT id, fingerprint FROM polls WHERE account_id = ${account_id} AND fingerprint = ANY (${fingerprints})
  `)
  return new Map(stored.map(({ id, fingerprint }) => [fingerprint, id]))
}

/**
 * Stores the poll that all emails of a campaign share, across its runs. Changes by a later run apply to earlier runs
 * too; options that were removed are kept for their answers.
 */
export async function insertCampaignPoll(tx: Tx, poll: CampaignPoll, { question, options }: PollForm): Promise<void> {
  const { account_id, id, domain_id, campaign_id } = poll
  await tx.run(sql.unsafe`
    INSERT INTO polls AS p (account_id, id, domain_id, campaign_id, question, options)
    VALUES (${account_id}, ${id}, ${domain_id}, ${campaign_id}, ${question}, ${JSON.stringify(options)})
    ON CONFLICT (account_id, campaign_id) WHERE campaign_id IS NOT NULL DO UPDATE SET question = excluded.question,
      options = excluded.options || jsonb_path_query_array(p.options, '$[*] ? (!(@.key == $keys[*]))',
        jsonb_build_object('keys', jsonb_path_query_array(excluded.options, '$[*].key')))
  `)
}

type Asker = { account_id: string; campaign_id: string } | { account_id: string; automation_id: string }

/** Deletes at most `limit` answers to the polls of a campaign or an automation; returns how many, 0 if none are left. */
export async function deleteAnswers(db: Queryable, asker: Asker, limit: number): Promise<number> {
  return db.run(sql.unsafe`
    DELETE FROM poll_answers WHERE account_id = ${asker.account_id} AND delivery_id = ANY (ARRAY(
      SELECT a.delivery_id FROM polls p JOIN poll_answers a ON a.account_id = p.account_id AND a.poll_id = p.id
      WHERE p.account_id = ${asker.account_id} AND ${isAskedBy(asker)} LIMIT ${limit}))
  `)
}

/** Deletes the polls of a deleted automation, with their remaining answers. */
export async function deleteAutomationPolls(tx: Tx, account_id: string, automation_id: string): Promise<void> {
  await tx.run(sql.unsafe`DELETE FROM polls WHERE account_id = ${account_id} AND automation_id = ${automation_id}`)
}

function isAskedBy(asker: Asker) {
  return 'campaign_id' in asker
    ? sql.fragment`p.campaign_id = ${asker.campaign_id}`
    : sql.fragment`p.automation_id = ${asker.automation_id}`
}
