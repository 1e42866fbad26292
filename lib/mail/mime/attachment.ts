import { lookup } from 'mime-types'
import {
  type ContentType,
  clipFilename,
  parseContentType,
  safeFilename,
  validateContentId,
} from '#lib/mail/attachment_limits.ts'
import { atomsField, type HeaderField, isPlainText } from './field.ts'

/** The input for an attachment's header. A null `content_type` means the type for the file name's extension. */
export type AttachmentHead = {
  filename: string
  content_type: string | null
  content_disposition: 'attachment' | 'inline'
  content_id: string | null
  /** The file is a message whose lines are sent as they are (embedded_message.ts). */
  is_embedded?: boolean
}

const ANY_TYPE = 'application/octet-stream'

export const MESSAGE = 'message/rfc822'

/**
 * Types that may not be encoded as base64 (RFC 2045 section 6.4, RFC 2046 section 5.2.1), so the file is sent as
 * application/octet-stream, unless it is a message that need not be encoded.
 */
const COMPOSITE = /^(?:message|multipart)\//

/** Longer names are written in parts (RFC 2231), since a quoted string cannot be folded. */
const LONGEST_PLAIN_NAME = 60

/** Characters of an encoded name per line, after ` filename*10*=utf-8''`. */
const SEGMENT = 54

/** Returns the fields of an attachment. Throws TypeError for an unvalidated content id or type; names are cleaned. */
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

/** Tells whether a file is an invitation or a reply to one: mail clients decide by its type (RFC 6047 section 2.4). */
export function isInvitation(content_type: string | null): boolean {
  const { type, parameters } = parseContentType(content_type ?? '') ?? { type: '', parameters: [] }
  return type === 'text/calendar' && parameters.some(({ name }) => name === 'method')
}

/** Returns the fields of an invitation that is an alternative of the body, not a file. Throws as above. */
export function invitationFields(head: AttachmentHead): HeaderField[] {
  const atoms = typeAtoms(head)
  // iCalendar is UTF-8 (RFC 5545 section 3.1.4), while text without a charset is ASCII.
  const charset = atoms.some(atom => /^charset=/i.test(atom)) ? [] : ['charset=utf-8;']
  return [
    atomsField('Content-Type', [...atoms, ...charset, `name="${plainFilename(safeFilename(head.filename))}"`]),
    atomsField('Content-Transfer-Encoding', ['base64']),
  ]
}

/**
 * Returns the given `type/subtype`, else the one for the name's extension; application/octet-stream for a composite type other
 * than a message. Throws as above.
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

/** Returns the type and its parameters, except `name`, which is written from the file name. */
function typeAtoms({ content_type, filename, is_embedded = false }: AttachmentHead): string[] {
  const { type, parameters } = contentTypeOf(content_type, filename, is_embedded)
  const others = parameters.filter(({ name }) => name !== 'name')
  return [type, ...others.map(({ text }) => text)].map(atom => `${atom};`)
}

/**
 * Returns the name for the disposition: as it is, or encoded as UTF-8 (RFC 2231 sections 3 and 4). Not both, since Python and
 * others would show the plain one. Readers that do not support the encoded one find a plain one in the Content-Type.
 */
function filenameAtoms(filename: string): string[] {
  if (isPlainFilename(filename)) return [`filename="${filename}"`]
  const segments = encodedSegments(filename)
  if (segments.length === 1) return [`filename*=utf-8''${segments[0]}`]
  const last = segments.length - 1
  return segments.map((segment, i) => `filename*${i}*=${i === 0 ? "utf-8''" : ''}${segment}${i < last ? ';' : ''}`)
}

/** Splits a name into segments, never within a character, since some readers decode each segment separately. */
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

/** Returns the nearest name in ASCII: `Resume.pdf` for `Résumé.pdf`. */
function plainFilename(filename: string): string {
  if (isPlainFilename(filename)) return filename
  const plain = filename
    .normalize('NFKD') // may produce a slash or a dot from a look-alike
    .replace(/\p{M}/gu, '')
    .replace(/[^ -~]+|["%/\\]|=\?|^\.+/g, '_')
    .replace(/ +/g, ' ')
    .trim()
  return clipFilename(plain || 'attachment', LONGEST_PLAIN_NAME)
}

/**
 * Tells whether a name needs no encoding. Quotes and backslashes would need escapes, which not every reader removes; some decode
 * percent signs.
 */
function isPlainFilename(filename: string): boolean {
  return filename.length <= LONGEST_PLAIN_NAME && isPlainText(filename) && !/["\\%]/.test(filename)
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 64))
}
