/** A structured field such as Content-Type: its value in lower case, and its parameters by name in lower case. */
export type Structured = { value: string; parameters: Map<string, string> }

/** Further parameters of a field are ignored. */
const MAX_PARAMETERS = 1_000

/**
 * Parses a field of RFC 2045 5.1: `multipart/mixed; boundary="b"`. Comments are skipped, quoted pairs are decoded, and values in
 * pieces (RFC 2231 3) are joined and percent-decoded to one character per byte. The first of two parameters with the same name
 * counts. Linear in the length of the field.
 */
export function readParameters(field: string): Structured {
  const [value = '', ...rest] = splitField(field)
  const parameters = new Map<string, string>()
  const pieces: Piece[] = []
  for (const text of rest) {
    const equals = text.indexOf('=')
    const name = (equals === -1 ? text : text.slice(0, equals)).trim().toLowerCase()
    const given = equals === -1 ? '' : text.slice(equals + 1).trim()
    const [, base = '', index = '0', encoded] = /^([^*]+)\*(?:(\d{1,4})(\*?))?$/.exec(name) ?? []
    if (base) pieces.push({ name: base, index: Number(index), isEncoded: encoded !== '', text: given })
    else if (!parameters.has(name)) parameters.set(name, given)
  }
  for (const [name, joined] of joinPieces(pieces)) parameters.set(name, joined)
  return { value: value.trim().toLowerCase(), parameters }
}

type Piece = { name: string; index: number; isEncoded: boolean; text: string }

function joinPieces(pieces: Piece[]): Map<string, string> {
  const joined = new Map<string, string>()
  for (const { name, index, isEncoded, text } of pieces.toSorted((one, other) => one.index - other.index)) {
    // The first piece may begin with a charset and a language: utf-8'en'text
    const bare = isEncoded && index === 0 ? text.replace(/^[^']*'[^']*'/, '') : text
    const decoded = isEncoded
      ? bare.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      : bare
    joined.set(name, (joined.get(name) ?? '') + decoded)
  }
  return joined
}

/** Splits a field at its semicolons, without quotes and comments. */
function splitField(field: string): string[] {
  const texts: string[] = []
  let text = ''
  let last = ' '
  let isQuoted = false
  let depth = 0
  for (let at = 0; at < field.length && texts.length < MAX_PARAMETERS; at++) {
    const char = field[at] as string
    if (char === '\\') {
      at++
      if (depth === 0) text += field[at] ?? ''
    } else if (isQuoted) {
      if (char === '"') isQuoted = false
      else text += char
    } else if (depth > 0) {
      if (char === '(') depth++
      if (char === ')') depth--
    } else if (char === '"') isQuoted = true
    // A parenthesis inside a word is literal: some senders do not quote it.
    else if (char === '(' && /[\s=;]/.test(last)) depth = 1
    else if (char === ';') {
      texts.push(text)
      text = ''
    } else text += char
    last = char
  }
  return [...texts, text]
}
