import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { absent } from '#lib/json/json_form.ts'
import { emptyPage, type Page, type Position, readHeavyPage } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { attachmentsCount, attachmentsOf, ReceivedAttachment } from './received_attachments.ts'
import { findFilterDomain, matchingIds, type ReceivedEmailFilters } from './received_email_filters.ts'

/** Maximum numbers of attachments, bytes of addresses and characters of the subject of an email in a list. */
const LISTED_ATTACHMENTS = 20
const LISTED_ADDRESSES = 16 * 1024
const LISTED_SUBJECT = 1_000

const Addresses = z.array(z.string())

/**
 * A received email in lists: as GET /emails/receiving/:id shows it, without html, text and headers. `attachments`: the
 * first 20 of `attachments_count`. `recipients_count`: only if addresses are left out, the number of addresses in all
 * its lists.
 */
export const ListedReceivedEmail = z
  .object({
    object: z.literal('received_email'),
    id: z.string(),
    domain_id: z.string().nullable().describe('Id of the first domain that received it; null after it was deleted.'),
    mail_from: z.string().describe('Envelope sender; empty for bounces.'),
    to: Addresses.describe('Addresses in To.'),
    from: z.string().describe('Address in From.'),
    from_name: z.string().nullable().describe('Name in From.'),
    subject: z.string().describe('Subject; in lists the first 1,000 characters.'),
    cc: absent(Addresses).describe('Addresses in Cc.'),
    bcc: absent(Addresses).describe('Addresses in Bcc.'),
    reply_to: absent(Addresses).describe('Addresses in Reply-To.'),
    received_for: absent(Addresses).describe('Addresses of the account in the envelope.'),
    message_id: absent(z.string()).describe('Message-ID header.'),
    category: z
      .string()
      .nullable()
      .describe('Meaning of a reply: `interested`, `neutral` or `not_interested`; null if unclear, or no reply.'),
    reply_to_email_id: z.string().nullable().describe('Id of the sent email that it replies to.'),
    read: z.boolean().describe('True if it was marked as read.'),
    read_at: z.date().nullable().describe('When it was first marked as read.'),
    spf: absent(z.string()).describe('Result of SPF in the terms of RFC 7208, such as `pass` or `softfail`.'),
    verdicts: absent(z.record(z.string(), z.string())).describe(
      'Results of `spf`, `dkim`, `dmarc`, `spam` and `virus`: `PASS`, `FAIL`, `GRAY`, `PROCESSING_FAILED` or `DISABLED`.',
    ),
    raw_available: z.boolean().describe('True while the raw message is stored.'),
    raw: absent(
      z.object({ download_url: z.string().describe('URL of the raw message. It needs the API key.') }),
    ).describe('The raw message.'),
    raw_url: absent(z.string()).describe('URL of the raw message without the host.'),
    attachments: absent(z.array(ReceivedAttachment)).describe('Files; in lists the first 20.'),
    attachments_count: absent(z.int()).describe('Number of files.'),
    recipients_count: absent(z.int()).describe('Number of all addresses, if the lists above are cut.'),
    parse_error: absent(z.string()).describe('Why a part of it could not be parsed.'),
    created_at: z.date(),
  })
  .meta({ id: 'ListedReceivedEmail' })
export type ListedReceivedEmail = z.infer<typeof ListedReceivedEmail>

export const ReceivedEmail = ListedReceivedEmail.omit({ recipients_count: true })
  .extend({
    html: absent(z.string()).describe('HTML part.'),
    text: absent(z.string()).describe('Plain-text part.'),
    headers: absent(z.record(z.string(), z.string())).describe('Headers by their names in lower case.'),
  })
  .meta({ id: 'ReceivedEmail' })
export type ReceivedEmail = z.infer<typeof ReceivedEmail>

/** Returns the columns of `received_emails r` except its address lists and its attachments. */
function columns(base_url: string) {
  const path = sql.fragment`'/api/emails/receiving/' || r.id`
  return sql.fragment`
    'received_email' AS object, r.id, r.domain_id, r.mail_from, r.sender AS "from", r.from_name, r.message_id, r.category,
    r.reply_to_email_id, r.read_at IS NOT NULL AS read, r.read_at, r.spf, r.verdicts,
    r.raw_blob_id IS NOT NULL AS raw_available,
    CASE WHEN r.raw_blob_id IS NOT NULL THEN jsonb_build_object('download_url', ${base_url} || ${path} || '/raw') END AS raw,
    CASE WHEN r.raw_blob_id IS NOT NULL THEN ${path} || '/raw' END AS raw_url,
    ${attachmentsCount} AS attachments_count, r.parse_error, r.created_at
  `
}

/** Returns the address lists of `r`, or the clipped ones. */
const addressesOf = (lists: FragmentSqlToken) => sql.fragment`
  ${lists}."to", nullif(${lists}.cc, '{}') AS cc, nullif(${lists}.bcc, '{}') AS bcc,
  nullif(${lists}.reply_to, '{}') AS reply_to, nullif(${lists}.received_for, '{}') AS received_for
`

/** Lists parsed emails, newest first. */
export async function listReceivedEmails(
  db: Queryable,
  account_id: string,
  position: Position,
  base_url: string,
  filters: ReceivedEmailFilters = {},
): Promise<Page<ListedReceivedEmail>> {
  const domain = await findFilterDomain(db, account_id, filters.domain)
  const isFiltered = Object.values(filters).some(value => value !== undefined)
  if (domain === null) return emptyPage()
  return readHeavyPage(db, position, {
    ...(isFiltered ? {} : { name: 'list_received_emails' }),
    type: ListedReceivedEmail,
    ids: (where, order, limit) => matchingIds(account_id, { ...filters, domain }, where, order, limit),
    row: id => sql.fragment`
      SELECT ${columns(base_url)}, left(r.subject, ${LISTED_SUBJECT}) AS subject, ${addressesOf(sql.fragment`l`)},
        l.total AS recipients_count, ${attachmentsOf(base_url, LISTED_ATTACHMENTS)} AS attachments
      FROM received_emails r
      CROSS JOIN LATERAL (SELECT (r.received_for, r."to", r.cc, r.bcc, r.reply_to, NULL)::clipped_recipients AS lists) a
      -- Calls the function only if needed: a call costs more than everything else of a row.
      CROSS JOIN LATERAL (
        SELECT CASE WHEN octet_length(to_json(a.lists)::text) <= ${LISTED_ADDRESSES} THEN a.lists
          ELSE clip_recipients(a.lists, ${LISTED_ADDRESSES}) END AS clipped OFFSET 0
      ) c
      CROSS JOIN LATERAL (SELECT (c.clipped).*) l
      WHERE r.account_id = ${account_id} AND r.id = ${id}
    `,
  })
}

export async function findReceivedEmail(
  db: Queryable,
  account_id: string,
  id: string,
  base_url: string,
): Promise<ReceivedEmail | null> {
  return db.maybeOne(sql.type(ReceivedEmail)`
    SELECT ${columns(base_url)}, r.subject, ${addressesOf(sql.fragment`r`)}, ${attachmentsOf(base_url)} AS attachments,
      c.html, c.text, nullif(c.headers, '{}') AS headers
    FROM received_emails r
    LEFT JOIN received_contents c ON c.account_id = r.account_id AND c.received_email_id = r.id
    WHERE r.account_id = ${account_id} AND r.id = ${id} AND r.state <> 'stored'
  `)
}
