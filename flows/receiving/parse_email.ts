import type { Blobs } from '#flows/files/blobs.ts'
import { Semaphore } from '#lib/async/semaphore.ts'
import { newId } from '#lib/ids.ts'
import type { ParsedAddress, ParsedFile, ParsedMessage } from '#lib/receiving/parse/parsed_message.ts'
import { stripOwnResults } from '#lib/receiving/verdicts/own_results.ts'
import type { Secrets } from '#lib/secrets.ts'
import { announceReceivedEmails } from '#sql/receiving/announce_received_emails.ts'
import {
  claimEmailToParse,
  type EmailToParse,
  haveBeenTried,
  type Judgement,
  markParsed,
  markUnreadable,
  resetParseTries,
} from '#sql/receiving/emails_to_parse.ts'
import { insertReceivedAttachments, type ParsedAttachment } from '#sql/receiving/received_attachments.ts'
import type { ReceivedEmailId } from '#sql/receiving/received_emails.ts'
import { insertUnappliedReport } from '#sql/receiving/unapplied_reports.ts'
import type { ClassifyWork } from './classify_reply.ts'
import { type Judge, judgeMessage } from './judge_message.ts'
import { findRelation, isForInbox, linkReply, type Relation } from './link_reply.ts'
import { parseRaw } from './parse_raw.ts'

type Work = ClassifyWork & Pick<Judge, 'judge_times'> & { blobs: Blobs; secrets: Secrets }

/** Bytes of messages in memory at a time, in all jobs of this process. Their parsed parts take as much again. */
const room = new Semaphore(64 * 1024 * 1024)
/**
 * Messages per job at the same time. Few of them are parsed in a thread; the others wait for DNS, rspamd or clamd, up to
 * half a minute if those are silent.
 */
const AT_ONCE = 20
/** The same, if a process has died with some of the messages: the one that caused it takes few others with it again. */
const AT_ONCE_WITH_CARE = 2
/** Most processes that may die while they parse a message. Others parsed beside it are hit as well, but less often. */
const MAX_DEATHS = 3

const UNAPPLIED = 'a report was received and changed nothing'

/** Parses received emails. A failure does not stop the others. @throws if some must be retried */
export async function parseEmails(work: Work, ids: ReceivedEmailId[]): Promise<void> {
  const waiting = ids.values()
  const failures: unknown[] = []
  const read = async () => {
    for (const id of waiting) await parseEmail(work, id).catch(error => failures.push(error))
  }
  const length = (await haveBeenTried(work.pool, ids)) ? AT_ONCE_WITH_CARE : AT_ONCE
  await Promise.all(Array.from({ length }, read))
  if (failures.length > 0) throw failures[0]
}

/** Parses a received email once. If that is impossible, the email keeps its raw message and has a `parse_error`. */
async function parseEmail(work: Work, id: ReceivedEmailId): Promise<void> {
  const email = await claimEmailToParse(work.pool, id)
  if (!email) return // deleted, or read by an earlier run
  if (email.parse_tries > MAX_DEATHS) return giveUp(work, email, 'Whatever tried to read it died of it.', null)
  await room.acquire(email.size)
  try {
    const parsed = await parseRaw(work.blobs, email)
    const { buffer, byteOffset, length } = parsed.raw
    const raw = Buffer.from(buffer, byteOffset, length)
    const judgement = await judgeMessage(work, email, raw)
    if ('refused' in parsed) {
      await giveUp(work, email, parsed.refused, judgement)
    } else {
      const relation = await findRelation(work, email, parsed.message, raw)
      await store(work, email, parsed.message, judgement, relation)
      if (relation.fault) work.log.warn({ ...id, reason: relation.fault }, UNAPPLIED)
    }
  } catch (error) {
    await resetParseTries(work.pool, id)
    throw error
  } finally {
    room.release(email.size)
  }
}

async function giveUp(work: Work, email: EmailToParse, why: string, judgement: Judgement | null): Promise<void> {
  const id = { account_id: email.account_id, id: email.id }
  const isListed = await isForInbox(work, email)
  const isNew = await work.pool.transaction(async tx => {
    if (!(await markUnreadable(tx, id, { why, judgement, isListed }))) return false
    if (!isListed) await insertUnappliedReport(tx, id, why)
    await announceReceivedEmails(tx, [id])
    return true
  })
  if (isNew && !isListed) work.log.warn({ ...id, reason: why }, UNAPPLIED)
}

async function store(
  { pool, blobs, config }: Work,
  { account_id, id }: EmailToParse,
  message: ParsedMessage,
  judgement: Judgement,
  relation: Relation,
): Promise<void> {
  const attachments: ParsedAttachment[] = []
  // Each file is released as soon as it is stored.
  for (let file = message.files.shift(); file; file = message.files.shift()) {
    attachments.push(await storeFile(blobs, account_id, file))
  }
  await pool.transaction(async tx => {
    const isNew = await markParsed(
      tx,
      { account_id, id },
      {
        from: message.from?.address ?? '',
        from_name: message.from?.name || null,
        to: listAddresses(message.to),
        cc: listAddresses(message.cc),
        bcc: listAddresses(message.bcc),
        reply_to: listAddresses(message.reply_to),
        subject: message.subject,
        message_id: message.message_id,
        headers: stripOwnResults(message.headers, [config.HELO_NAME, config.SERVER_DOMAIN]),
        html: message.html,
        text: message.text,
        parse_error: message.cut,
      },
      judgement,
    )
    if (!isNew) return
    await insertReceivedAttachments(tx, { account_id, id }, attachments)
    await linkReply(tx, { account_id, id }, relation)
    await announceReceivedEmails(tx, [{ account_id, id }])
  })
}

async function storeFile(blobs: Blobs, account_id: string, file: ParsedFile): Promise<ParsedAttachment> {
  const { buffer, byteOffset, length } = file.content
  const blob = await blobs.put(account_id, Buffer.from(buffer, byteOffset, length))
  return {
    id: newId(),
    filename: file.filename ?? 'attachment',
    content_type: file.content_type,
    content_disposition: file.disposition,
    content_id: file.content_id,
    size: blob.size,
    blob_id: blob.id,
  }
}

/** Leaves out names without an address, and `<>`. */
function listAddresses(mailboxes: ParsedAddress[]): string[] {
  return mailboxes.map(({ address }) => address).filter(address => address !== '')
}
