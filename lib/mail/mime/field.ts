import { encodedWords, looksEncoded } from './encoded_word.ts'

/** One header field: `raw` is `Name: value`, folded, ASCII, without the CRLF that ends it. */
export type HeaderField = { name: string; raw: string }

/** RFC 2047 section 2 allows a line with an encoded word 76 characters, RFC 5322 section 2.1.1 asks for 78 at most. */
const LINE = 76

// RFC 5322 3.6.8, but no `;`: it would end the list of what a signature signs (RFC 6376 3.5).
const NAME = /^[!-9<-~]{1,64}$/
const CONTROLS = /[^\t -~\u0080-\uffff]+/g // the tab is white space like any other
const NOT_ASCII = /[^\t -~]/
const PLAIN_WORDS = /^[!-~]+(?: [!-~]+)*$/
const OVER_78 = /.{79}/
const OVER_998 = /.{999}/

/** A line break other than CRLF and white space would end the field (RFC 5322 section 2.2.3). */
const UNSAFE = /[^\t\r\n -~]|\r(?!\n[\t ])|(?<!\r)\n/

/** Whether a field of this name can be written: names of more kinds than the API takes arrive by SMTP. */
export function isFieldName(name: string): boolean {
  return NAME.test(name)
}

/**
 * A field of atoms that are never broken, one space or fold between them. Every field is made here, so that no input
 * can add a header line. Throws TypeError for a name or an atom that cannot be written safely. Free text is cleaned or
 * encoded before it comes here: only an identifier that nobody validated is refused.
 */
export function atomsField(name: string, atoms: string[]): HeaderField {
  const raw = fold(name, atoms)
  if (!isFieldName(name) || UNSAFE.test(raw) || isOverlong(raw)) {
    throw new TypeError(`Header field ${JSON.stringify(name.slice(0, 64))} cannot be written safely`)
  }
  return { name, raw }
}

/**
 * Text for people, which arrives exactly as given, spaces included: encoded when folding or an eager reader could
 * change it. Controls become a space.
 */
export function textField(name: string, text: string): HeaderField {
  const value = withoutControls(text)
  const words = value.split(' ')
  const isPlain = isPlainText(value) && !OVER_78.test(fold(name, words))
  return atomsField(name, isPlain ? words : encodedWords(value))
}

/**
 * A value whose syntax is the caller's (List-Unsubscribe, References, X-anything). ASCII goes out as it is, encoded
 * words in it too, folded only where it has a space; anything else, or a line over 998 characters, is encoded whole.
 */
export function rawField(name: string, text: string): HeaderField {
  const value = withoutControls(text).replace(/^[\t ]+|[\t ]+$/g, '')
  const words = value === '' ? [] : value.split(' ')
  const isPlain = !NOT_ASCII.test(value) && !isOverlong(fold(name, words))
  return atomsField(name, isPlain ? words : encodedWords(value))
}

/** Whether text needs no encoding: ASCII words with single spaces, which every fold and every reader keeps. */
export function isPlainText(text: string): boolean {
  return PLAIN_WORDS.test(text) && !looksEncoded(text)
}

/** Encoded, a line break could not end a field, but would come back to life in a program that decodes and copies. */
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
 * Only before a visible character: a line of nothing but white space is obsolete syntax, and some readers drop all
 * white space that begins a line. Right behind the name only when that makes the line fit.
 */
function mayFold(atom: string, isFirst: boolean, end: number): boolean {
  if (!(atom.charCodeAt(0) > 0x20)) return false
  return !isFirst || atom.length < LINE || end > 998
}

function isOverlong(raw: string): boolean {
  return raw.length > 998 && OVER_998.test(raw)
}
