import { hash } from 'node:crypto'
import { type Address, formatAddress } from '../address.ts'
import { safeFilename } from '../attachment.ts'
import { MAX_FILE_BYTES } from '../base64_decoder.ts'
import { isReservedHeader } from '../headers.ts'
import { UploadedContent, WrongContent } from '../uploaded_content.ts'
import type { ParsedAddress, ParsedFile, ParsedMessage } from './parsed_message.ts'

/**
 * A message as the body of POST /emails would be, not validated. Recipients of the envelope that its header does not show
 * are blind copies; a single one of them is who it is to, when the header shows nobody.
 */
export function submittedEmail(message: ParsedMessage, envelope: Address[]): Record<string, unknown> {
  const shown = new Set([...message.to, ...message.cc].map(({ address }) => address.toLowerCase()))
  const hidden = envelope.filter(({ address }) => !shown.has(address.toLowerCase())).map(({ address }) => address)
  const isToOne = shown.size === 0 && hidden.length === 1
  return {
    from: message.from ? format(message.from) : undefined,
    to: isToOne ? hidden : message.to.map(format),
    cc: message.cc.map(format),
    bcc: isToOne ? [] : hidden,
    reply_to: message.reply_to.map(format),
    subject: message.subject,
    html: message.html,
    text: message.text,
    headers: customHeaders(message.headers),
    attachments: message.files.map(toAttachment),
  }
}

function format({ name, address }: ParsedAddress): string {
  return formatAddress({ name: name || null, address })
}

/** Those that are ours to write are written anew. */
function customHeaders(headers: Record<string, string>): Record<string, string> {
  const custom = Object.entries(headers).filter(([name]) => !isReservedHeader(name))
  return Object.fromEntries(custom.map(([name, value]) => [capitalise(name), value.trim()]))
}

function capitalise(name: string): string {
  return name.replace(/(?<![^-])[a-z]/g, letter => letter.toUpperCase())
}

function toAttachment({ filename, content_type, disposition, content_id, content }: ParsedFile) {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const isTooLarge = bytes.length > MAX_FILE_BYTES
  return {
    filename: safeFilename(filename ?? 'attachment'),
    content: isTooLarge
      ? new WrongContent(`is larger than ${MAX_FILE_BYTES} bytes`)
      : new UploadedContent(hash('sha256', bytes), bytes.length, { bytes }),
    content_type,
    content_disposition: disposition,
    content_id,
  }
}
