import { buffer } from 'node:stream/consumers'
import { newId } from '../lib/ids.ts'
import { parseMessage } from '../lib/inbound/parse_message.ts'
import type { ParsedAddress, ParsedFile, ParsedMessage } from '../lib/inbound/parsed_message.ts'
import type { Secrets } from '../lib/secrets.ts'
import {
  findEmailToParse,
  insertReceivedAttachments,
  markParsed,
  markUnreadable,
  type ParsedAttachment,
  type ReceivedEmailId,
} from '../sql/received_emails.ts'
import type { Blobs } from './blobs.ts'
import type { ClassifyWork } from './classify_reply.ts'
import { findRelation, linkReply } from './link_reply.ts'

type Work = ClassifyWork & { blobs: Blobs; secrets: Secrets }

/** Reads what was received, once. What cannot be read keeps its raw message, and says so. */
export async function parseEmail(work: Work, id: ReceivedEmailId): Promise<void> {
  const { pool, blobs } = work
  const email = await findEmailToParse(pool, id)
  if (!email) return // deleted, or read by an earlier run
  const raw = await buffer(blobs.read(email.account_id, email.raw_blob_id))
  let message: ParsedMessage
  try {
    message = await parseMessage(raw)
  } catch (error) {
    return markUnreadable(pool, id, error instanceof Error ? error.message : String(error))
  }
  const relation = await findRelation(work, email, message, raw)
  const attachments: ParsedAttachment[] = []
  for (const file of message.files) attachments.push(await store(blobs, email.account_id, file))
  await pool.transaction(async tx => {
    const isNew = await markParsed(tx, id, {
      from: message.from?.address ?? '',
      from_name: message.from?.name || null,
      to: message.to.map(format),
      cc: message.cc.map(format),
      bcc: message.bcc.map(format),
      reply_to: message.reply_to.map(format),
      subject: message.subject,
      message_id: message.message_id,
      headers: message.headers,
      html: message.html,
      text: message.text,
    })
    if (!isNew) return
    await insertReceivedAttachments(tx, id, attachments)
    await linkReply(tx, id, relation)
  })
}

async function store(blobs: Blobs, account_id: string, file: ParsedFile): Promise<ParsedAttachment> {
  const blob = await blobs.put(account_id, Buffer.from(file.content))
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

function format({ address }: ParsedAddress): string {
  return address
}
