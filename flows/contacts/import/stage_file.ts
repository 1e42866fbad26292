import type { Blobs } from '#flows/files/blobs.ts'
import { toCopyLine } from '#lib/contacts/import/copy_text.ts'
import { FirstRecords } from '#lib/contacts/import/first_records.ts'
import { type Row, readRow, shownEmail } from '#lib/contacts/import/read_row.ts'
import { type CsvRecord, readRecords, UnreadableError } from '#lib/files/csv/read_records.ts'
import { newId } from '#lib/ids.ts'
import type { LeasedImport } from '#sql/contacts/import/imports.ts'
import { type StagedChunk, stageChunk } from '#sql/contacts/import/staging.ts'
import type { Pool } from '#sql/pool.ts'
import type { StageProgress } from './stage_progress.ts'

/** Maximum numbers of records and of their characters that are staged per commit. */
const CHUNK = 5_000
const CHUNK_LENGTH = 1_000_000
/** Maximum number of rows that are staged ahead of merging: as many as Postgres still has in its buffers when they are merged. */
const AHEAD = 30_000
/** Characters that are encoded at a time. */
const PIECE = 64 * 1024
/** Maximum number of invalid records: each is stored with its fault, so a file of nothing else would fill the disk. */
const MAX_FAULTS = 100_000

export type Services = { pool: Pool; blobs: Blobs }
/** `seconds`: how long a lease lasts unless it is extended. */
export type Leased = LeasedImport & { owner: string; seconds: number }

/**
 * Reads the file of an import and stages its rows to be merged. Rows that were staged before must be gone.
 *
 * @throws {LostLeaseError} @throws the reason of `stopping`
 */
export async function stageFile(
  { pool, blobs }: Services,
  leased: Leased,
  stopping: AbortSignal,
  progress: StageProgress,
): Promise<void> {
  const { account_id, blob_id, options, merged_through } = leased
  let records = 0
  let faults = 0
  let error: string | null = null
  let chunk = new Chunk()
  const firsts = new FirstRecords()
  // The next chunk is read while Postgres stores one.
  let storing: Promise<void> = Promise.resolve()
  const store = async () => {
    await storing
    storing = stageChunk(pool, leased, chunk).then(() => progress.advance())
    storing.catch(() => {}) // rethrown where it is awaited
    chunk = new Chunk()
  }
  try {
    for await (const { n, line, cells } of readRecords(blobs.read(account_id, blob_id), options)) {
      records = n
      const row = readRow(cells, options)
      if (typeof row !== 'string') chunk.add(lineOf(leased, { n, line, cells }, row, firsts.find(row.email, n)))
      // Faults of records that are already merged are stored already.
      else if (n > merged_through) chunk.addFault({ n, line, email: shownEmail(cells, options.columns), message: row })
      if (typeof row === 'string' && ++faults === MAX_FAULTS) {
        error = `The file was not read any further than line ${line}: 100,000 of its records are wrong.`
        break
      }
      if (!chunk.isFull) continue
      stopping.throwIfAborted()
      await store()
      await progress.waitForMerge(n - AHEAD)
      stopping.throwIfAborted()
    }
  } catch (cause) {
    if (!(cause instanceof UnreadableError)) throw cause
    const { n, line, message } = cause
    records = n
    error = `The file cannot be read from line ${line} on: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
    if (n > merged_through) chunk.addFault({ n, line, email: null, message })
  }
  await store()
  await storing
  progress.end({ records, error })
}

/** Returns the line of COPY for a record, with the address as it is in the file only if an error may show it. */
function lineOf(
  { id: import_id, options }: Leased,
  { n, line, cells }: CsvRecord,
  row: Row,
  repeated_n: number,
): string {
  const written = repeated_n > 0 ? shownEmail(cells, options.columns) : null
  const written_email = written === row.email ? null : written
  return toCopyLine(import_id, { ...row, n, line, id: newId(), repeated_n, written_email })
}

/** Lines of COPY. They are encoded early, because as text they would take several times the memory. */
class Chunk implements StagedChunk {
  readonly faults: StagedChunk['faults'] = []
  readonly #pieces: Buffer[] = []
  #piece = ''
  #records = 0
  #length = 0

  get isFull(): boolean {
    return this.#records >= CHUNK || this.#length >= CHUNK_LENGTH
  }

  get copy(): Buffer[] {
    return this.#piece === '' ? this.#pieces : [...this.#pieces, Buffer.from(this.#piece)]
  }

  add(line: string): void {
    this.#piece += line
    this.#count(line)
    if (this.#piece.length < PIECE) return
    this.#pieces.push(Buffer.from(this.#piece))
    this.#piece = ''
  }

  addFault(fault: StagedChunk['faults'][number]): void {
    this.faults.push(fault)
    this.#count(fault.message)
  }

  #count({ length }: string): void {
    this.#records++
    this.#length += length
  }
}
