import { extension } from 'mime-types'

/** Characters in a file name. */
export const MAX_FILENAME = 255
/** Characters in a content type, its parameters included. */
export const MAX_CONTENT_TYPE = 255
/** Characters in a content id. */
export const MAX_CONTENT_ID = 128

// RFC 6838 section 4.2 for the names, RFC 2045 section 5.1 for the values.
const NAME = '[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,63}'
const VALUE = '[A-Za-z0-9!#$%&\'*+.^_`{|}~-]+|"(?:[!#-[\\]-~]| (?! ))*"'
const PARAMETER = new RegExp(` *; *(${NAME})=(${VALUE})`, 'g')
const CONTENT_TYPE = new RegExp(`^(${NAME}/${NAME})((?:${PARAMETER.source})*)$`)

// The atoms of RFC 5322 section 3.2.3 and what joins them: nothing that ends `<...>` or needs quotes there.
const CONTENT_ID = /^[\w!#$%&'*+\-/=?^`{|}~.@]+$/
// What ends a line somewhere (RFC 5322 2.1, Unicode 5.8), or may not stand in one.
const BREAKING = /[\p{Cc}\p{Zl}\p{Zp}]/u
// They turn `gpj.exe` round, so that it is read as `exe.jpg`.
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
const SEPARATOR = /[/\\]/
const UNSAFE = new RegExp(`${BREAKING.source}|${TURNING.source}|${SEPARATOR.source}`, 'gu')
const ONLY_DOTS = /^\.{1,2}$/

/** Lower case `type/subtype`, and the parameters as they are to be written: `charset=utf-8`. */
export type ContentType = { type: string; parameters: { name: string; text: string }[] }

type Described = { filename: string; content_type?: string | null; content_id?: string | null }

/** The first field of an attachment that is refused and why, as words to follow its name, or null. */
export function validateAttachment(attachment: Described): { field: keyof Described; reason: string } | null {
  const { filename, content_type = null, content_id = null } = attachment
  const reasons = {
    filename: validateFilename(filename),
    content_type: content_type === null ? null : validateContentType(content_type),
    content_id: content_id === null ? null : validateContentId(content_id),
  }
  for (const field of ['filename', 'content_type', 'content_id'] as const) {
    const reason = reasons[field]
    if (reason) return { field, reason }
  }
  return null
}

/** Why a file name is refused, or null: the reader's machine is to save it under this name, and nowhere else. */
export function validateFilename(filename: string): string | null {
  if (filename.trim() === '') return 'must not be empty'
  if (filename.length > MAX_FILENAME) return `must have at most ${MAX_FILENAME} characters`
  if (!filename.isWellFormed()) return 'must not have a lone surrogate'
  if (BREAKING.test(filename)) return 'must not have a line break or control character'
  if (TURNING.test(filename)) return 'must not have a character that changes the direction of text'
  if (SEPARATOR.test(filename) || ONLY_DOTS.test(filename.trim())) return 'must be a name, not a path'
  return null
}

/** Why a content type is refused, or null. */
export function validateContentType(content_type: string): string | null {
  if (content_type.length > MAX_CONTENT_TYPE) return `must have at most ${MAX_CONTENT_TYPE} characters`
  if (!parseContentType(content_type)) return 'must be a content type such as application/pdf'
  return null
}

/** Why a content id is refused, or null. It is written without the angle brackets, as in `cid:`. */
export function validateContentId(content_id: string): string | null {
  if (content_id.length > MAX_CONTENT_ID) return `must have at most ${MAX_CONTENT_ID} characters`
  // Readers decode `=?` wherever it stands.
  if (!CONTENT_ID.test(content_id) || content_id.includes('=?')) {
    return 'must have only letters, digits and punctuation without brackets, quotes, commas, colons or spaces'
  }
  return null
}

/** A content type of RFC 2045 section 5.1 without comments; null when it is none. */
export function parseContentType(text: string): ContentType | null {
  const match = CONTENT_TYPE.exec(text)
  if (!match || text.length > MAX_CONTENT_TYPE || text.includes('=?')) return null
  const [, type = '', tail = ''] = match
  const parameters = [...tail.matchAll(PARAMETER)].map(([, name = '', value = '']) => ({
    name: name.toLowerCase(),
    text: `${name}=${value}`,
  }))
  return { type: type.toLowerCase(), parameters }
}

/** A content type that nobody validated, or, where it is none, that of any bytes. */
export function safeContentType(content_type: string): string {
  return parseContentType(content_type) ? content_type : 'application/octet-stream'
}

/** The last segment of a URL's path, else `attachment` with the extension of the type, if it has one. */
export function defaultFilename(url: string | null, content_type: string | null): string {
  const segment = URL.parse(url ?? '')
    ?.pathname.split('/')
    .at(-1)
  if (segment) return safeFilename(decoded(segment))
  const end = content_type === null ? false : extension(content_type)
  return end ? `attachment.${end}` : 'attachment'
}

/** A segment with a percent sign that encodes nothing stays as it is. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** What is left of a name that nobody validated, or that came with received mail: one that would be accepted. */
export function safeFilename(filename: string): string {
  // Readers decode an encoded word in a name, even where it was the name itself: `=?` may become a line break.
  const safe = filename.toWellFormed().replace(UNSAFE, '_').replaceAll('=?', '=_').trim()
  return safe === '' || ONLY_DOTS.test(safe) ? 'attachment' : clipFilename(safe, MAX_FILENAME)
}

/** Up to `length` characters of a name; its extension stays, since it says how the file is opened. */
export function clipFilename(filename: string, length: number): string {
  if (filename.length <= length) return filename
  const [extension = ''] = /\.[^.]{1,15}$/.exec(filename) ?? []
  // Half a character is no character.
  return (
    filename
      .slice(0, length - extension.length)
      .replace(/[\ud800-\udbff]$/, '')
      .trimEnd() + extension
  )
}
