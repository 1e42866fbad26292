import { safeFilename } from '#lib/mail/attachment_limits.ts'
import { readHeader, splitMessage } from '#lib/mail/mime/header.ts'
import { repairHeader } from '#lib/mail/parts/repair_header.ts'
import { MailReader } from './mail_reader.ts'

/** A subject is among the first bytes of a message. */
const MAX_HEADER = 64 * 1024

/** The name of a file that came without one; null where its type does not suggest any. */
export function nameFile(type: string, content: Uint8Array): string | null {
  if (type === 'text/calendar') return 'invite.ics'
  if (type !== 'message/rfc822' && type !== 'message/global') return null
  const subject = readSubject(content)
  return subject ? safeFilename(`${subject}.eml`) : 'message.eml'
}

/** The decoded subject of a message, empty without one. */
function readSubject(content: Uint8Array): string {
  const bytes = Buffer.from(content.buffer, content.byteOffset, Math.min(content.byteLength, MAX_HEADER))
  const fields = readHeader(splitMessage(bytes).header)
  const field = fields.find(({ name }) => name === 'subject')
  if (!field) return ''
  const line = repairHeader(field.raw).toString('latin1')
  const decoded = new MailReader(() => {}).processHeaders([{ key: 'subject', line }]).get('subject')
  return typeof decoded === 'string' ? decoded.trim() : ''
}
