import { parse } from 'csv-parse/sync'
import { clip } from '#lib/zod_fields.ts'
import { MAX_COLUMNS, RECORD_OPTIONS } from './read_records.ts'
import { decodeHead, HEAD_BYTES, markedEncoding } from './text_encoding.ts'

export const DELIMITERS = [',', ';', '\t', '|'] as const
type Delimiter = (typeof DELIMITERS)[number]

/** A first line that tells Excel the delimiter. */
const SEP_LINE = /^"?sep=([,;\t|])"?[ \t]*(?:\r\n|\n|\r)/i

const ESCAPE = 0x1b

export type Header = { delimiter: Delimiter; names: string[] }

/** The file has no readable header. The message says why, as a sentence. */
export class HeaderError extends Error {}

/**
 * Reads the header of a file from its first characters: the first record that is not blank.
 *
 * @throws {HeaderError}
 */
export function readHeader(head: string, given?: Delimiter): Header {
  const text = withoutPreamble(head)
  if (text.trim() === '') throw new HeaderError('The file is empty.')
  const line = firstLine(text)
  const named = DELIMITERS.find(one => one === SEP_LINE.exec(head.trimStart())?.[1])
  const delimiter = given ?? named ?? guessDelimiter(line)
  const names = namesIn(line, delimiter)
  if (line.includes('\u0000')) throw new HeaderError('The first line of the file has a NUL character.')
  if (names.length > MAX_COLUMNS) throw new HeaderError(`The file has more than ${MAX_COLUMNS} columns.`)
  return { delimiter, names: names.map(name => name.trim()) }
}

function namesIn(line: string, delimiter: Delimiter): string[] {
  try {
    const [names = []] = parse(line, { ...RECORD_OPTIONS, delimiter, to: 1 }) as string[][]
    return names
  } catch (cause) {
    // A literal quote within a cell hides from `firstLine` that a later cell is not closed.
    throw new HeaderError('A quote in the first line of the file is not closed.', { cause })
  }
}

/**
 * Checks that the first HEAD_BYTES of a file contain its first line, so that a file without line breaks is rejected before all of
 * it has arrived. The encoding need not be known.
 *
 * @throws {HeaderError}
 */
export function requireFirstLine(head: Buffer): void {
  const encoding = markedEncoding(head)
  // In a 16-bit encoding or one with escape sequences, the bytes of quotes and line breaks may belong to other characters.
  if (encoding === null && (head.includes(0) || head.includes(ESCAPE))) return
  firstLine(withoutPreamble(decodeHead(head, encoding ?? 'latin1')))
}

/**
 * Checks that a header has a column of this name once, ignoring case: with two, it is unknown which one has the right addresses.
 *
 * @throws {HeaderError}
 */
export function requireOnce(names: string[], name: string): void {
  if (names.filter(one => one.toLowerCase() === name.toLowerCase()).length === 1) return
  throw new HeaderError(`The header must have the column ${clip(name)} only once.`)
}

function withoutPreamble(head: string): string {
  return head.replace(/^\s*[\r\n]/, '').replace(SEP_LINE, '')
}

/** Returns the text up to the first line break outside of quotes. */
function firstLine(text: string): string {
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '"') isQuoted = !isQuoted
    else if (!isQuoted && (char === '\n' || char === '\r')) return text.slice(0, at + 1)
  }
  if (text.length >= HEAD_BYTES / 4) throw new HeaderError('The first line of the file is too long for a header.')
  if (isQuoted) throw new HeaderError('A quote in the first line of the file is not closed.')
  return text
}

/** Returns the most frequent delimiter outside of quotes, or a comma if there is none. */
function guessDelimiter(line: string): Delimiter {
  const bare = line.replace(/"[^"]*"/g, '')
  const counts = DELIMITERS.map(delimiter => ({ delimiter, count: bare.split(delimiter).length }))
  return counts.reduce((most, one) => (one.count > most.count ? one : most)).delimiter
}
