import { z } from 'zod'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { Answer, ListedPoll, listed, type Poll, Response } from './poll_records.ts'

/** Maximum number of rows of `responses`. */
const MAX_RESPONSES = 500

const columns = sql.fragment`'poll' AS object, p.id, p.email_id, p.campaign_id, p.automation_id, p.step, p.question,
  p.created_at`

/** Joins `polls p` with the sums over all options. */
const figures = sql.fragment`
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(c.count), 0)::integer AS responses_count, max(c.last_response_at) AS last_response_at
    FROM poll_counts c WHERE c.account_id = p.account_id AND c.poll_id = p.id AND c.option <> ''
  ) n
`

type PollFilters = Partial<Record<'campaign_id' | 'automation_id' | 'domain_id', string | undefined>>

/** Is true for `polls p` that is no test and whose automation exists: a job removes the polls of a deleted one later. */
const isShown = sql.fragment`(NOT p.is_test AND (p.automation_id IS NULL OR EXISTS (
  SELECT FROM automations o WHERE o.account_id = p.account_id AND o.id = p.automation_id
)))`

/** Lists polls, except those of test emails. */
export async function listPolls(
  db: Queryable,
  account_id: string,
  { campaign_id, automation_id, domain_id }: PollFilters,
  position: Position,
): Promise<Page<ListedPoll>> {
  const conditions = [
    sql.fragment`p.account_id = ${account_id} AND ${isShown}`,
    ...(campaign_id === undefined ? [] : [sql.fragment`p.campaign_id = ${campaign_id}`]),
    ...(automation_id === undefined ? [] : [sql.fragment`p.automation_id = ${automation_id}`]),
    ...(domain_id === undefined ? [] : [sql.fragment`p.domain_id = ${domain_id}`]),
  ]
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(ListedPoll)`
      SELECT ${columns}, n.responses_count, n.last_response_at
      FROM polls p ${figures}
      WHERE ${sql.join(conditions, sql.fragment` AND `)} AND ${where} ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

/**
 * Number of recipients of `polls p`: from the counters of a campaign, without runs that were before its poll, and from the events of a
 * single email. Null for an automation (`countSent`).
 */
const sentCount = sql.fragment`(CASE
  WHEN p.campaign_id IS NOT NULL THEN (
    SELECT coalesce(sum(c.count), 0) FROM campaign_runs u
    JOIN campaign_counts c ON c.account_id = u.account_id AND c.campaign_id = u.campaign_id AND c.run = u.run AND c.name = 'sent'
    WHERE u.account_id = p.account_id AND u.campaign_id = p.campaign_id AND u.created_at >= p.created_at
  )
  WHEN p.automation_id IS NULL THEN (
    SELECT count(DISTINCT v.recipient) FROM email_events v
    WHERE v.account_id = p.account_id AND v.email_id = p.email_id AND v.type = 'delivered'
  )
END)::integer`

const Found = z.object({ ...listed, subject: z.string(), sent_count: z.int().nullable(), answers: z.array(Answer) })

/** Finds a poll by its own id, or by the id of its campaign or of an email with it. */
export async function findPoll(db: Queryable, account_id: string, id: string): Promise<Poll | null> {
  const found = await db.maybeOne(sql.type(Found)`
    SELECT ${columns}, n.responses_count, n.last_response_at, coalesce(p.subject, g.subject, e.subject, '') AS subject, ${sentCount} AS sent_count,
      (
        SELECT jsonb_agg(jsonb_build_object('key', x.option ->> 'key', 'label', x.option ->> 'label', 'count', x.count,
          'percentage', CASE WHEN n.responses_count = 0 THEN 0 ELSE round(100.0 * x.count / n.responses_count, 2) END)
          ORDER BY x.place)
        FROM (
          SELECT o.option, o.place, (
            SELECT coalesce(sum(c.count), 0)::integer FROM poll_counts c
            WHERE c.account_id = p.account_id AND c.poll_id = p.id AND c.option = o.option ->> 'key'
          ) AS count
          FROM jsonb_array_elements(p.options) WITH ORDINALITY AS o(option, place)
        ) x
      ) AS answers
    FROM polls p ${figures}
    LEFT JOIN emails e ON e.account_id = p.account_id AND e.id = p.email_id
    LEFT JOIN campaigns g ON g.account_id = p.account_id AND g.id = p.campaign_id
    WHERE p.account_id = ${account_id} AND ${isShown} AND p.id = (
      SELECT i.id FROM (
        SELECT id FROM polls WHERE account_id = ${account_id} AND id = ${id}
        UNION ALL SELECT id FROM polls WHERE account_id = ${account_id} AND email_id = ${id}
        UNION ALL SELECT id FROM polls WHERE account_id = ${account_id} AND campaign_id = ${id}
        UNION ALL SELECT poll_id FROM email_contents
          WHERE account_id = ${account_id} AND email_id = ${id} AND poll_id IS NOT NULL
      ) i LIMIT 1
    )
  `)
  if (!found) return null
  const sent_count = found.sent_count ?? (await countSent(db, account_id, found))
  return { ...found, sent_count, responses: await listResponses(db, account_id, found.id) }
}

/**
 * Counts the emails of an automation with a poll that were sent; each has one recipient. Those whose content was deleted are counted
 * under the option '' (forget_expired_emails.sql). A statement of its own, without events, since an automation may have millions of
 * emails: Postgres can then use several processes.
 */
async function countSent(
  db: Queryable,
  account_id: string,
  { id, automation_id }: Pick<z.infer<typeof Found>, 'id' | 'automation_id'>,
): Promise<number> {
  const { sent } = await db.one(sql.type(z.object({ sent: z.int() }))`
    SELECT count(*) + (
      SELECT coalesce(sum(c.count), 0) FROM poll_counts c
      WHERE c.account_id = ${account_id} AND c.poll_id = ${id} AND c.option = ''
    )::bigint AS sent FROM emails s
    JOIN email_contents m ON m.account_id = s.account_id AND m.email_id = s.id AND m.poll_id = ${id}
    WHERE s.account_id = ${account_id} AND s.automation_id = ${automation_id} AND s.sent_at IS NOT NULL
  `)
  return sent
}

async function listResponses(db: Queryable, account_id: string, poll_id: string): Promise<Poll['responses']> {
  return db.any(sql.type(Response)`
    SELECT d.recipient AS email, answering_contact(e.account_id, e.contact_id, e.domain_id, d.recipient) AS contact_id,
      a.option AS answer, a.answered_at
    FROM (
      SELECT * FROM poll_answers WHERE account_id = ${account_id} AND poll_id = ${poll_id}
      ORDER BY answered_at DESC LIMIT ${MAX_RESPONSES}
    ) a
    JOIN deliveries d ON d.account_id = a.account_id AND d.id = a.delivery_id
    JOIN emails e ON e.account_id = d.account_id AND e.id = d.email_id
    ORDER BY a.answered_at DESC, d.id
  `)
}
