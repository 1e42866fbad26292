import type { ParsedMessage } from '#lib/receiving/parse/parsed_message.ts'
import { isAutomatic } from '#lib/receiving/replies/automatic_mail.ts'
import type { Secrets } from '#lib/secrets.ts'
import type { Tx } from '#sql/pool.ts'
import type { EmailToParse } from '#sql/receiving/emails_to_parse.ts'
import type { ReceivedEmailId } from '#sql/receiving/received_emails.ts'
import { findRepliedEmail, insertReply, markReport, type NamedMessage, type Reply } from '#sql/receiving/replies.ts'
import type { ReportedDelivery, ReportedOutcome } from '#sql/receiving/reports.ts'
import { insertUnappliedReport } from '#sql/receiving/unapplied_reports.ts'
import { applyReport, findReport } from './apply_report.ts'
import { type ClassifyWork, classifyMessage } from './classify_reply.ts'
import { findReturnPath } from './find_return_path.ts'

type LinkWork = ClassifyWork & { secrets: Secrets }

/** Relation of a received email to sent ones: it replies to one, reports the outcome of some, or neither. */
export type Relation = {
  is_listed: boolean
  outcomes: ReportedOutcome[]
  /** Why a report had no effect. */
  fault: string | null
  reply: Reply | null
}

/** Relation of mail that was only sent to unsubscribe: it is listed nowhere. */
export const UNRELATED: Relation = { is_listed: false, outcomes: [], fault: null, reply: null }

/** Runs outside any transaction, since it may call an AI service; `linkReply` writes the result. */
export async function findRelation(
  work: LinkWork,
  email: Pick<EmailToParse, 'account_id' | 'id' | 'mail_from' | 'received_for'>,
  message: Omit<ParsedMessage, 'files'>,
  raw: Uint8Array,
): Promise<Relation> {
  const deliveries = await findDeliveries(work, email)
  const { isReport, outcomes, fault } = await findReport(raw, email, address => findReturnPath(work, address))
  if (isReport || isAutomatic(message.headers, message.subject, email.mail_from)) {
    return { is_listed: hasReader(deliveries), outcomes, fault, reply: null }
  }
  const by_path = deliveries.find(delivery => delivery?.account_id === email.account_id)?.email_id
  const from = message.from?.address ?? ''
  const named = listNamed(message.headers)
  const email_id = by_path ?? (await findRepliedEmail(work.pool, email.account_id, named, from))
  if (!email_id) return { is_listed: true, outcomes: [], fault, reply: null }
  const category = await classifyMessage(work, email, message)
  return { is_listed: true, outcomes: [], fault, reply: { email_id, category } }
}

/** False if a message that could not be read was received for our return paths only. */
export async function isForInbox(work: LinkWork, email: Pick<EmailToParse, 'received_for'>): Promise<boolean> {
  return hasReader(await findDeliveries(work, email))
}

/** Returns, per address that the email was received for, the delivery whose return path it is, or null. */
function findDeliveries(
  work: LinkWork,
  { received_for }: Pick<EmailToParse, 'received_for'>,
): Promise<(ReportedDelivery | null)[]> {
  return Promise.all(received_for.map(address => findReturnPath(work, address)))
}

/** False if every recipient is one of our return paths: a bounce or an absence note there never reaches the inbox. */
function hasReader(deliveries: (ReportedDelivery | null)[]): boolean {
  return deliveries.some(delivery => delivery === null)
}

/** @throws while a delivery that it reports on is still being sent */
export async function linkReply(tx: Tx, id: ReceivedEmailId, relation: Relation): Promise<void> {
  if (!relation.is_listed) await markReport(tx, id)
  await applyReport(tx, relation.outcomes)
  if (relation.fault) await insertUnappliedReport(tx, id, relation.fault)
  if (relation.reply) await insertReply(tx, id, relation.reply)
}

const OURS = /^([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})@/i
/**
 * Maximum ids looked up. `ours`: as many as a long thread has. `others`: ids that clients may have given to mail that they
 * submit.
 */
const MAX_NAMED = { ours: 20, others: 100 }

/**
 * Returns the message ids that a reply names: the one it replies to first, then earlier ones, newest first (RFC 5322
 * 3.6.4).
 */
function listNamed(headers: Readonly<Record<string, string>>): NamedMessage[] {
  const left = { ...MAX_NAMED }
  return [...idsIn(headers['in-reply-to']), ...idsIn(headers.references).reverse()]
    .map(message_id => ({ message_id, id: OURS.exec(message_id)?.[1] ?? null }))
    .filter(({ id }) => left[id ? 'ours' : 'others']-- > 0)
}

/** Decoded words may have NUL, and the first word half of a character, both of which Postgres rejects. */
const UNSTORABLE = /[\p{Cc}\p{Cs}]/u

/** Returns the ids in a field. Some clients leave out the angle brackets. */
function idsIn(field = ''): string[] {
  return decodeIds(field.slice(-20_000))
    .split(/[\s<>]+/)
    .filter(word => word.length <= 500 && /.@./.test(word) && !UNSTORABLE.test(word))
}

const WORD = /=\?[^?\s]{1,40}\?([bq])\?([^?\s]{0,2000})\?=(?:\s+(?==\?))?/gi

/**
 * Decodes encoded words: Exchange encodes ids that are too long for a line, which RFC 2047 5 forbids. Ids are ASCII in
 * any charset.
 */
function decodeIds(text: string): string {
  return text.replace(WORD, (_, encoding: string, word: string) =>
    /b/i.test(encoding)
      ? Buffer.from(word, 'base64').toString('latin1')
      : word.replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  )
}
