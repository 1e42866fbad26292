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

// The atoms of RFC 5322 section 3.2.3 and their separators: nothing that ends `<...>` or needs quotes there.
const CONTENT_ID = /^[\w!#$%&'*+\-/=?^`{|}~.@]+$/
// Characters that end a line in some systems (RFC 5322 2.1, Unicode 5.8), or are not allowed in one.
const BREAKING = /[\p{Cc}\p{Zl}\p{Zp}]/u
// Characters that change the direction of text, so that `gpj.exe` reads as `exe.jpg`.
const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
const SEPARATOR = /[/\\]/
const UNSAFE = new RegExp(`${BREAKING.source}|${BIDI_CONTROLS.source}|${SEPARATOR.source}`, 'gu')
const ONLY_DOTS = /^\.{1,2}$/

/** `type/subtype` in lower case, and the parameters as they are to be written: `charset=utf-8`. */
export type ContentType = { type: string; parameters: { name: string; text: string }[] }

type Described = { filename: string; content_type?: string | null; content_id?: string | null }

/** Returns the first invalid field of an attachment and the reason, in words that follow the name of the field, or null. */
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

/** Returns why a file name is rejected, or null. The reader's machine must save the file under this name, and nowhere else. */
export function validateFilename(filename: string): string | null {
  if (filename.trim() === '') return 'must not be empty'
  if (filename.length > MAX_FILENAME) return `must have at most ${MAX_FILENAME} characters`
  if (!filename.isWellFormed()) return 'must not have a lone surrogate'
  if (BREAKING.test(filename)) return 'must not have a line break or control character'
  if (BIDI_CONTROLS.test(filename)) return 'must not have a character that changes the direction of text'
  if (SEPARATOR.test(filename) || ONLY_DOTS.test(filename.trim())) return 'must be a name, not a path'
  return null
}

/** Returns why a content type is rejected, or null. */
export function validateContentType(content_type: string): string | null {
  if (content_type.length > MAX_CONTENT_TYPE) return `must have at most ${MAX_CONTENT_TYPE} characters`
  if (!parseContentType(content_type)) return 'must be a content type such as application/pdf'
  return null
}

/** Returns why a content id is rejected, or null. It is given without angle brackets, as in `cid:`. */
export function validateContentId(content_id: string): string | null {
  if (content_id.length > MAX_CONTENT_ID) return `must have at most ${MAX_CONTENT_ID} characters`
  // Mail clients decode `=?` anywhere.
  if (!CONTENT_ID.test(content_id) || content_id.includes('=?')) {
    return 'must have only letters, digits and punctuation without brackets, quotes, commas, colons or spaces'
  }
  return null
}

/** Parses a content type of RFC 2045 section 5.1 without comments; null if it is invalid. */
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

/** Returns an unvalidated content type, or the one for arbitrary bytes if it is invalid. */
export function safeContentType(content_type: string): string {
  return parseContentType(content_type) ? content_type : 'application/octet-stream'
}

/** Adds the charset of a text; null: it has none. Quoted if it has characters that no token has, such as `ISO_8859-1:1987`. */
export function withCharset(content_type: string, charset: string | null): string {
  if (charset === null) return content_type
  return `${content_type}; charset=${charset.includes(':') ? `"${charset}"` : charset}`
}

/** Returns the last segment of a URL's path, else `attachment` with the extension of the type, if it has one. */
export function defaultFilename(url: string | null, content_type: string | null): string {
  const segment = URL.parse(url ?? '')
    ?.pathname.split('/')
    .at(-1)
  if (segment) return safeFilename(decoded(segment))
  const end = content_type === null ? false : extension(content_type)
  return end ? `attachment.${end}` : 'attachment'
}

/** Decodes a segment; one with an invalid percent sign stays as it is. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Returns a valid name for an unvalidated one, such as from received mail. */
export function safeFilename(filename: string): string {
  // Mail clients decode an encoded-word in a name, even if it is the name itself: `=?` could become a line break.
  const safe = filename.toWellFormed().replace(UNSAFE, '_').replaceAll('=?', '=_').trim()
  return safe === '' || ONLY_DOTS.test(safe) ? 'attachment' : clipFilename(safe, MAX_FILENAME)
}

/** Returns at most `length` characters of a name, with its extension, which determines how the file is opened. */
export function clipFilename(filename: string, length: number): string {
  if (filename.length <= length) return filename
  const [extension = ''] = /\.[^.]{1,15}$/.exec(filename) ?? []
  // Drops half of a surrogate pair.
  return (
    filename
      .slice(0, length - extension.length)
      .replace(/[\ud800-\udbff]$/, '')
      .trimEnd() + extension
  )
}
