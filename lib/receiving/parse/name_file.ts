import { safeFilename } from '#lib/mail/attachment_limits.ts'
import { readHeader, splitMessage } from '#lib/mail/mime/header.ts'
import { repairHeader } from '#lib/mail/parts/repair_header.ts'
import { MailReader } from './mail_reader.ts'

/** Bytes of a message in which its subject is searched. */
const MAX_HEADER = 64 * 1024

/** Returns a name for a file without one; null if its type does not suggest any. */
export function nameFile(type: string, content: Uint8Array): string | null {
  if (type === 'text/calendar') return 'invite.ics'
  if (type !== 'message/rfc822' && type !== 'message/global') return null
  const subject = readSubject(content)
  return subject ? safeFilename(`${subject}.eml`) : 'message.eml'
}

/** Returns the decoded subject of a message, or an empty string. */
function readSubject(content: Uint8Array): string {
  const bytes = Buffer.from(content.buffer, content.byteOffset, Math.min(content.byteLength, MAX_HEADER))
  const fields = readHeader(splitMessage(bytes).header)
  const field = fields.find(({ name }) => name === 'subject')
  if (!field) return ''
  const line = repairHeader(field.raw).toString('latin1')
  const decoded = new MailReader(() => {}).processHeaders([{ key: 'subject', line }]).get('subject')
  return typeof decoded === 'string' ? decoded.trim() : ''
}
