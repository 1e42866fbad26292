import { z } from 'zod'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'

const listed = {
  object: z.literal('poll'),
  id: z.string(),
  email_id: z.string().nullable().describe('Id of the email that asks; null: a campaign does.'),
  campaign_id: z.string().nullable().describe('Id of the campaign that asks; null: an email does.'),
  question: z.string().describe('The question.'),
  responses_count: z.int().describe('Recipients who have answered.'),
  last_response_at: z.date().nullable().describe('When an answer was last given or changed.'),
  created_at: z.date().describe('When the email was accepted, or the campaign started.'),
}

/** A poll as GET /polls shows it (contract 14). */
export const ListedPoll = z.object(listed).meta({ id: 'ListedPoll' })
type ListedPoll = z.infer<typeof ListedPoll>

const Answer = z
  .object({
    key: z.string().describe('Key of the option.'),
    label: z.string().describe('Its text.'),
    count: z.int().describe('Recipients whose last answer it is.'),
    percentage: z.number().describe('Their share of all who have answered, 0 to 100, with two decimals.'),
  })
  .meta({ id: 'PollAnswer' })

const Response = z
  .object({
    email: z.string().describe('Address of the recipient.'),
    contact_id: z.string().nullable().describe('Id of the contact; null if there is none.'),
    answer: z.string().describe('Key of the option.'),
    answered_at: z.date().describe('When this answer was given.'),
  })
  .meta({ id: 'PollResponse' })

/** A poll as GET /polls/:id shows it. */
export const Poll = z
  .object({
    ...listed,
    subject: z.string().describe('Subject of the email or campaign.'),
    sent_count: z.int().describe('Recipients whose mail servers took the email.'),
    answers: z.array(Answer).describe('The options with their figures, in order.'),
    responses: z.array(Response).describe('The last answer of each recipient, newest first, at most 500.'),
  })
  .meta({ id: 'Poll' })
type Poll = z.infer<typeof Poll>

/** Rows of `responses`. */
const MAX_RESPONSES = 500

const columns = sql.fragment`'poll' AS object, p.id, p.email_id, p.campaign_id, p.question, p.created_at`

/** From `polls p`: the figures of all options together. */
const figures = sql.fragment`
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(c.count), 0)::integer AS responses_count, max(c.last_response_at) AS last_response_at
    FROM poll_counts c WHERE c.account_id = p.account_id AND c.poll_id = p.id
  ) n
`

/** Without those of test emails. */
export async function listPolls(
  db: Queryable,
  account_id: string,
  { campaign_id, domain_id }: { campaign_id?: string | undefined; domain_id?: string | undefined },
  position: Position,
): Promise<Page<ListedPoll>> {
  const conditions = [
    sql.fragment`p.account_id = ${account_id} AND NOT p.is_test`,
    ...(campaign_id === undefined ? [] : [sql.fragment`p.campaign_id = ${campaign_id}`]),
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

const Found = z.object({ ...listed, subject: z.string(), sent_count: z.int(), answers: z.array(Answer) })

/** By its own id, or that of its email, of its campaign, or of an email of its campaign. */
export async function findPoll(db: Queryable, account_id: string, id: string): Promise<Poll | null> {
  const found = await db.maybeOne(sql.type(Found)`
    SELECT ${columns}, n.responses_count, n.last_response_at, coalesce(g.subject, e.subject, '') AS subject,
      CASE WHEN p.campaign_id IS NULL THEN (
        SELECT count(DISTINCT v.recipient) FROM email_events v
        WHERE v.account_id = p.account_id AND v.email_id = p.email_id AND v.type = 'delivered'
      ) ELSE (
        SELECT coalesce(sum(c.count), 0) FROM campaign_counts c
        WHERE c.account_id = p.account_id AND c.campaign_id = p.campaign_id AND c.name = 'sent'
      ) END::integer AS sent_count,
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
    WHERE p.account_id = ${account_id} AND NOT p.is_test AND p.id = (
      SELECT i.id FROM (
        SELECT id FROM polls WHERE account_id = ${account_id} AND id = ${id}
        UNION ALL SELECT id FROM polls WHERE account_id = ${account_id} AND email_id = ${id}
        UNION ALL SELECT id FROM polls WHERE account_id = ${account_id} AND campaign_id = ${id}
        UNION ALL SELECT poll_id FROM email_contents
          WHERE account_id = ${account_id} AND email_id = ${id} AND poll_id IS NOT NULL
      ) i LIMIT 1
    )
  `)
  return found && { ...found, responses: await listResponses(db, account_id, found.id) }
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
