import { encodedWords, looksEncoded } from './encoded_word.ts'

/** A header field. `raw` is `Name: value`, folded, ASCII, without the CRLF at its end. */
export type HeaderField = { name: string; raw: string }

/** RFC 2047 section 2 allows 76 characters for a line with an encoded-word; RFC 5322 section 2.1.1 recommends at most 78. */
const LINE = 76

// RFC 5322 3.6.8, except `;`, which would end the list of fields that a signature covers (RFC 6376 3.5).
const NAME = /^[!-9<-~]{1,64}$/
const CONTROLS = /[^\t -~\u0080-\uffff]+/g // a tab counts as white space
const NOT_ASCII = /[^\t -~]/
const PLAIN_WORDS = /^[!-~]+(?: [!-~]+)*$/
/** From the beginning of a line: from each character on, it would take time that grows with the square of its length. */
const OVER_78 = /^.{79}/m
const OVER_998 = /^.{999}/m

/** A line break other than CRLF and white space would end the field (RFC 5322 section 2.2.3). */
const UNSAFE = /[^\t\r\n -~]|\r(?!\n[\t ])|(?<!\r)\n/

/** Tells whether a field of this name can be written. */
export function isFieldName(name: string): boolean {
  return NAME.test(name)
}

/**
 * Returns a field of atoms that are never broken, with one space or fold between them. Every field is made here, so that no input
 * can add a header line. Throws TypeError for a name or an atom that cannot be written safely. Free text is cleaned or encoded
 * before, so only unvalidated identifiers are rejected.
 */
export function atomsField(name: string, atoms: string[]): HeaderField {
  const raw = fold(name, atoms)
  if (!isFieldName(name) || UNSAFE.test(raw) || isOverlong(raw)) {
    throw new TypeError(`Header field ${JSON.stringify(name.slice(0, 64))} cannot be written safely`)
  }
  return { name, raw }
}

/**
 * Returns a field with text for people, which arrives exactly as given, including its spaces: it is encoded if folding or lenient
 * readers could change it. Control characters become a space.
 */
export function textField(name: string, text: string): HeaderField {
  const value = withoutControls(text)
  const words = value.split(' ')
  const folded = fold(name, words)
  // Python keeps the space of a fold directly after the name.
  const isPlain = isPlainText(value) && !OVER_78.test(folded) && !folded.startsWith(`${name}:\r\n`)
  return atomsField(name, isPlain ? words : encodedWords(value))
}

/**
 * Returns a field whose syntax is the caller's (List-Unsubscribe, References, X-anything). ASCII stays as it is, including
 * encoded-words, and is folded at spaces only. Other text, or text with a line over 998 characters, is encoded as a whole.
 */
export function rawField(name: string, text: string): HeaderField {
  const value = withoutControls(text).replace(/^[\t ]+|(?<![\t ])[\t ]+$/g, '')
  const words = value === '' ? [] : value.split(' ')
  const isPlain = !NOT_ASCII.test(value) && !isOverlong(fold(name, words))
  return atomsField(name, isPlain ? words : encodedWords(value))
}

/** Tells whether text needs no encoding: ASCII words with single spaces, which every fold and every reader preserves. */
export function isPlainText(text: string): boolean {
  return PLAIN_WORDS.test(text) && !looksEncoded(text)
}

/**
 * Replaces control characters with a space. An encoded line break could not end the field, but it could have an effect in a
 * program that decodes and copies the text.
 */
export function withoutControls(text: string): string {
  return text.replace(CONTROLS, ' ')
}

function fold(name: string, atoms: string[]): string {
  let folded = `${name}:`
  let column = folded.length
  for (const atom of atoms) {
    const isFirst = column === folded.length
    const end = column + 1 + atom.length
    if (end > LINE && mayFold(atom, isFirst, end)) {
      folded += `\r\n ${atom}`
      column = 1 + atom.length
    } else {
      folded += ` ${atom}`
      column = end
    }
  }
  return folded
}

/**
 * Folds only before a visible character: a line of white space alone is obsolete syntax, and some readers drop all white space at
 * the beginning of a line. Folds directly after the name only if that makes the line fit.
 */
function mayFold(atom: string, isFirst: boolean, end: number): boolean {
  if (!(atom.charCodeAt(0) > 0x20)) return false
  return !isFirst || atom.length < LINE || end > 998
}

function isOverlong(raw: string): boolean {
  return raw.length > 998 && OVER_998.test(raw)
}
