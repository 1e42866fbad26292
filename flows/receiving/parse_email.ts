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
  type Unreadable,
} from '#sql/receiving/emails_to_parse.ts'
import { insertReceivedAttachments, type ParsedAttachment } from '#sql/receiving/received_attachments.ts'
import type { ReceivedEmailId } from '#sql/receiving/received_emails.ts'
import { insertUnappliedReport } from '#sql/receiving/unapplied_reports.ts'
import type { ClassifyWork } from './classify_reply.ts'
import { type Judge, judgeMessage } from './judge_message.ts'
import { findRelation, isPost, linkReply, type Relation } from './link_reply.ts'
import { parseRaw } from './parse_raw.ts'

type Work = ClassifyWork & Pick<Judge, 'judge_times'> & { blobs: Blobs; secrets: Secrets }

/** Bytes of messages that are in memory at a time, in all jobs of this process. What is read of them is as much again. */
const room = new Semaphore(64 * 1024 * 1024)
/**
 * Of one job. Few are read in a thread at a time, whatever this is; the others wait for DNS, rspamd or clamd, for half a
 * minute when those are silent.
 */
const AT_ONCE = 20
/** Of one job with messages that a process died with: the one that did it takes few others with it again. */
const AT_ONCE_WITH_CARE = 2
/** Processes that died while they had it; those that are read beside it die with them, but not as often. */
const MAX_DEATHS = 3

const UNAPPLIED = 'a report was received and changed nothing'

/** Reads what was received. One that fails keeps no other from being read. @throws when some are to be tried again */
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

/** Reads what was received, once. What cannot be read keeps its raw message, and says so. */
async function parseEmail(work: Work, id: ReceivedEmailId): Promise<void> {
  const email = await claimEmailToParse(work.pool, id)
  if (!email) return // deleted, or read by an earlier run
  if (email.parse_tries > MAX_DEATHS) {
    const isListed = await isPost(work, email)
    return giveUp(work, id, { why: 'Whatever tried to read it died of it.', judgement: null, isListed })
  }
  await room.acquire(email.size)
  try {
    const parsed = await parseRaw(work.blobs, email)
    const { buffer, byteOffset, length } = parsed.raw
    const raw = Buffer.from(buffer, byteOffset, length)
    const judgement = await judgeMessage(work, email, raw)
    if ('refused' in parsed) {
      const isListed = await isPost(work, email)
      await giveUp(work, id, { why: parsed.refused, judgement, isListed })
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

async function giveUp({ pool, log }: Work, id: ReceivedEmailId, unreadable: Unreadable): Promise<void> {
  const isNew = await pool.transaction(async tx => {
    if (!(await markUnreadable(tx, id, unreadable))) return false
    if (!unreadable.isListed) await insertUnappliedReport(tx, id, unreadable.why)
    await announceReceivedEmails(tx, [id])
    return true
  })
  if (isNew && !unreadable.isListed) log.warn({ ...id, reason: unreadable.why }, UNAPPLIED)
}

async function store(
  { pool, blobs, config }: Work,
  { account_id, id }: EmailToParse,
  message: ParsedMessage,
  judgement: Judgement,
  relation: Relation,
): Promise<void> {
  const attachments: ParsedAttachment[] = []
  // Each is let go as soon as it is stored.
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

/** A name alone, and `<>`, are nobody's. */
function listAddresses(mailboxes: ParsedAddress[]): string[] {
  return mailboxes.map(({ address }) => address).filter(address => address !== '')
}
