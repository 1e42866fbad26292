import PostalMime, { type Address } from 'postal-mime'
import type { ParsedAddress, ParsedFile, ParsedMessage } from './parsed_message.ts'

/** Reads a message: what runs in the thread. */
export default async function parse(raw: Uint8Array): Promise<ParsedMessage> {
  const email = await PostalMime.parse(raw, { attachmentEncoding: 'arraybuffer', maxNestingDepth: 50 })
  const headers: Record<string, string> = {}
  for (const { key, value } of email.headers) headers[key] = key in headers ? `${headers[key]}\n${value}` : value
  return {
    from: flatten(email.from ? [email.from] : [])[0] ?? null,
    to: flatten(email.to),
    cc: flatten(email.cc),
    bcc: flatten(email.bcc),
    reply_to: flatten(email.replyTo),
    subject: email.subject ?? '',
    message_id: email.messageId ?? null,
    headers,
    html: email.html ?? null,
    text: email.text ?? null,
    files: email.attachments.map(
      (file): ParsedFile => ({
        filename: file.filename,
        content_type: file.mimeType,
        disposition: file.disposition === 'inline' ? 'inline' : 'attachment',
        content_id: file.contentId?.replace(/^<|>$/g, '') ?? null,
        content: new Uint8Array(file.content as ArrayBuffer),
      }),
    ),
  }
}

/** Members of a group stand for themselves. */
function flatten(addresses: Address[] = []): ParsedAddress[] {
  return addresses.flatMap(({ name, address, group }) =>
    group ? group.map(member => ({ name: member.name, address: member.address })) : [{ name, address: address ?? '' }],
  )
}
