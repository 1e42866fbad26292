import { type Parser, parse } from 'csv-parse'
import { TimeSlice } from '#lib/async/time_slice.ts'
import { toUtf8 } from './text_encoding.ts'

/** Maximum number of columns of a file: an export of contacts has one per property and topic. */
export const MAX_COLUMNS = 1_000

/** Longest record that is read, in bytes. A longer one is an unclosed quote. */
const MAX_BYTES = 16 * 1024 * 1024

/** Quotes in the middle of a cell are literal: a stray one must not swallow the lines after it. */
export const RECORD_OPTIONS = {
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
  relax_quotes: true,
}

/** A record of a file. `n` is its number, from 1, without the header; `line` is the physical line where it begins, from 1. */
export type CsvRecord = { n: number; line: number; cells: string[] }

/** The file cannot be read from this record on. The message is a sentence. */
export class UnreadableError extends Error {
  readonly n: number
  readonly line: number

  constructor(message: string, { n, line }: { n: number; line: number }, cause: unknown) {
    super(message, { cause })
    this.n = n
    this.line = line
  }
}

type Format = { encoding: string; delimiter: string }

/**
 * Reads the records of a CSV file (RFC 4180) after its header, sharing the event loop. Blank lines are skipped.
 *
 * @throws {UnreadableError} if the rest of the file cannot be read, after yielding the records before it
 */
export async function* readRecords(
  chunks: AsyncIterable<Buffer>,
  { encoding, delimiter }: Format,
): AsyncGenerator<CsvRecord> {
  const parser = new RecordParser(delimiter)
  const slice = new TimeSlice()
  try {
    for await (const piece of toUtf8(chunks, encoding)) {
      await parser.write(piece)
      yield* parser.take()
      if (slice.isOver) await slice.pause()
    }
    await parser.end()
  } catch (error) {
    yield* parser.take()
    const message = messageOf(error, encoding)
    throw message === null ? error : new UnreadableError(message, parser.next, error)
  }
  yield* parser.take()
}

/** Numbers records, and counts the physical lines that they take. */
class RecordParser {
  readonly #parsed: string[][] = []
  readonly #parser: Parser
  #n = -1 // the header is the first
  #line = 1

  constructor(delimiter: string) {
    // Does not read records from the stream, since an error would discard those not read yet.
    const on_record = (cells: string[]) => {
      this.#parsed.push(cells)
      return null
    }
    this.#parser = parse({ ...RECORD_OPTIONS, delimiter, max_record_size: MAX_BYTES, on_record })
    this.#parser.on('error', () => {}) // the callback of `write` gets the error
  }

  /** Number and line of the record that is being read. */
  get next(): { n: number; line: number } {
    return { n: Math.max(this.#n, 0) + 1, line: this.#line }
  }

  write(piece: Buffer): Promise<void> {
    return new Promise((resolve, reject) => this.#parser.write(piece, error => (error ? reject(error) : resolve())))
  }

  end(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#parser.once('error', reject)
      this.#parser.end(() => resolve())
    })
  }

  *take(): Generator<CsvRecord> {
    for (const cells of this.#parsed.splice(0)) {
      const line = this.#line
      this.#line += 1 + countBreaks(cells)
      if (isBlank(cells) || (this.#n < 0 && isSeparatorLine(cells))) continue
      if (++this.#n > 0) yield { n: this.#n, line, cells }
    }
  }
}

function messageOf(error: unknown, encoding: string): string | null {
  const { code } = error as { code?: string }
  switch (code) {
    case 'CSV_MAX_RECORD_SIZE':
      return 'The record is longer than 16 MB: a quote in it may not be closed.'
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'A quote in the record is not closed.'
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return `The file is not in the encoding ${encoding}.`
    default:
      return null
  }
}

function isBlank(cells: string[]): boolean {
  return cells.every(cell => cell.trim() === '')
}

/** Detects `sep=;`, the first line of files for Excel, which is not a header. */
function isSeparatorLine(cells: string[]): boolean {
  return /^sep=[,;\t|]?\s*$/i.test(cells.join(''))
}

/** Returns the number of line breaks in quoted cells. */
function countBreaks(cells: string[]): number {
  let count = 0
  for (const cell of cells) {
    if (cell.includes('\n') || cell.includes('\r')) count += cell.split(/\r\n|\n|\r/).length - 1
  }
  return count
}
