import { lookup } from 'mime-types'
import {
  type ContentType,
  clipFilename,
  parseContentType,
  safeFilename,
  validateContentId,
} from '#lib/mail/attachment_limits.ts'
import { atomsField, type HeaderField, isPlainText } from './field.ts'

/** What an attachment's header is written from; null: the type goes by the file name's extension. */
export type AttachmentHead = {
  filename: string
  content_type: string | null
  content_disposition: 'attachment' | 'inline'
  content_id: string | null
  /** It is a message in lines that are sent as they are (embedded_message.ts). */
  is_embedded?: boolean
}

const ANY_TYPE = 'application/octet-stream'

export const MESSAGE = 'message/rfc822'

/**
 * May not be encoded as base64 (RFC 2045 section 6.4, RFC 2046 section 5.2.1), so the file is sent as bytes of any type,
 * unless it is a message that need not be encoded.
 */
const COMPOSITE = /^(?:message|multipart)\//

/** Longer names are written as RFC 2231 says, in parts: a quoted string cannot be folded. */
const LONGEST_PLAIN_NAME = 60

/** Of an encoded name in one line, behind ` filename*10*=utf-8''`. */
const SEGMENT = 54

/** Throws TypeError for a content id or type that nobody validated; names are cleaned. */
export function attachmentFields(head: AttachmentHead, disposition: 'attachment' | 'inline'): HeaderField[] {
  const filename = safeFilename(head.filename)
  const fields = [
    atomsField('Content-Type', [...typeAtoms({ ...head, filename }), `name="${plainFilename(filename)}"`]),
    atomsField('Content-Transfer-Encoding', [head.is_embedded ? '7bit' : 'base64']),
    atomsField('Content-Disposition', [`${disposition};`, ...filenameAtoms(filename)]),
  ]
  const { content_id } = head
  if (content_id === null) return fields
  const reason = validateContentId(content_id)
  if (reason) throw new TypeError(`Content id ${quote(content_id)} ${reason}`)
  return [...fields, atomsField('Content-ID', [`<${content_id}>`])]
}

/** Whether it is an invitation, or an answer to one: what a mail program does with it is in its type (RFC 6047 section 2.4). */
export function isInvitation(content_type: string | null): boolean {
  const { type, parameters } = parseContentType(content_type ?? '') ?? { type: '', parameters: [] }
  return type === 'text/calendar' && parameters.some(({ name }) => name === 'method')
}

/** The fields of an invitation that is a form of the body and no file. Throws as above. */
export function invitationFields(head: AttachmentHead): HeaderField[] {
  const atoms = typeAtoms(head)
  // iCalendar is UTF-8 (RFC 5545 section 3.1.4), and text without a charset is ASCII.
  const charset = atoms.some(atom => /^charset=/i.test(atom)) ? [] : ['charset=utf-8;']
  return [
    atomsField('Content-Type', [...atoms, ...charset, `name="${plainFilename(safeFilename(head.filename))}"`]),
    atomsField('Content-Transfer-Encoding', ['base64']),
  ]
}

/**
 * `type/subtype` of what is given, else by the name's extension; that of any bytes for a composite type other than a
 * message. Throws as above.
 */
export function typeOfFile(content_type: string | null, filename: string): string {
  return contentTypeOf(content_type, filename, true).type
}

function contentTypeOf(content_type: string | null, filename: string, canBeMessage: boolean): ContentType {
  const parsed = parseContentType(content_type ?? (lookup(filename) || ANY_TYPE))
  if (!parsed) throw new TypeError(`Content type ${quote(content_type ?? '')} cannot be written safely`)
  if (!COMPOSITE.test(parsed.type) || (canBeMessage && parsed.type === MESSAGE)) return parsed
  return { type: ANY_TYPE, parameters: [] }
}

/** All but a parameter `name`: that is written from the file name. */
function typeAtoms({ content_type, filename, is_embedded = false }: AttachmentHead): string[] {
  const { type, parameters } = contentTypeOf(content_type, filename, is_embedded)
  const others = parameters.filter(({ name }) => name !== 'name')
  return [type, ...others.map(({ text }) => text)].map(atom => `${atom};`)
}

/**
 * The name in the disposition: as it is, or encoded as UTF-8 (RFC 2231 sections 3 and 4). Not both: of the two, Python
 * and others show the plain one. Who cannot read the encoded one finds a plain one in the Content-Type.
 */
function filenameAtoms(filename: string): string[] {
  if (isPlainFilename(filename)) return [`filename="${filename}"`]
  const segments = encodedSegments(filename)
  if (segments.length === 1) return [`filename*=utf-8''${segments[0]}`]
  const last = segments.length - 1
  return segments.map((segment, i) => `filename*${i}*=${i === 0 ? "utf-8''" : ''}${segment}${i < last ? ';' : ''}`)
}

/** No segment splits a character: some readers decode each for itself. */
function encodedSegments(filename: string): string[] {
  const segments = ['']
  for (const character of filename) {
    const encoded = /[\w.-]/.test(character) ? character : percentEncoded(character)
    const last = segments.length - 1
    const longer = segments[last] + encoded
    if (longer.length > SEGMENT) segments.push(encoded)
    else segments[last] = longer
  }
  return segments
}

function percentEncoded(character: string): string {
  return Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '%$&')
}

/** What is nearest to the name in ASCII: `Résumé.pdf` is `Resume.pdf`. */
function plainFilename(filename: string): string {
  if (isPlainFilename(filename)) return filename
  const plain = filename
    .normalize('NFKD') // may make a slash or a dot of what looked like one
    .replace(/\p{M}/gu, '')
    .replace(/[^ -~]+|["%/\\]|=\?|^\.+/g, '_')
    .replace(/ +/g, ' ')
    .trim()
  return clipFilename(plain || 'attachment', LONGEST_PLAIN_NAME)
}

/** Quotes and backslashes would have to be escaped, which not every reader takes back; some decode percents. */
function isPlainFilename(filename: string): boolean {
  return filename.length <= LONGEST_PLAIN_NAME && isPlainText(filename) && !/["\\%]/.test(filename)
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 64))
}
