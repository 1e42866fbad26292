import type { Blobs } from '#flows/files/blobs.ts'
import { linkReply, type Relation } from '#flows/receiving/link_reply.ts'
import type { Config } from '#lib/config.ts'
import { newId } from '#lib/ids.ts'
import type { ParsedAddress, ParsedFile, ParsedMessage } from '#lib/receiving/parse/parsed_message.ts'
import { stripOwnResults } from '#lib/receiving/verdicts/own_results.ts'
import type { Pool } from '#sql/pool.ts'
import { announceReceivedEmails } from '#sql/receiving/announce_received_emails.ts'
import { type Judgement, markParsed } from '#sql/receiving/emails_to_parse.ts'
import { insertReceivedAttachments, type ParsedAttachment } from '#sql/receiving/received_attachments.ts'
import type { ReceivedEmailId } from '#sql/receiving/received_emails.ts'

type Work = { pool: Pool; blobs: Blobs; config: Pick<Config, 'HELO_NAME' | 'SERVER_DOMAIN'> }

/** Stores the parsed parts of a received email and its relation to sent ones, unless an earlier run has done so. */
export async function storeParsed(
  { pool, blobs, config }: Work,
  { account_id, id }: ReceivedEmailId,
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
    charset: file.charset,
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
