import type { MailbrookError } from '../../source/index.ts'
import { plainText, recordText } from './record_text.ts'
import { Table } from './table.ts'

type Stream = { write(text: string): unknown; isTTY?: boolean; columns?: number }
export type Streams = { stdout: Stream; stderr: Stream }
type Options = { json?: boolean | undefined; fields?: string | undefined }
type Item = Record<string, unknown>

/** Width if the terminal does not report it. */
const COLUMNS = 100

/**
 * Writes results to stdout and everything else to stderr. With `--json`, or if stdout is not a terminal, results are JSON, each
 * on one line, so that other programs can read them line by line.
 */
export class Output {
  readonly isJson: boolean
  /** True if a person sees the output and can be asked. */
  readonly isTerminal: boolean
  readonly #streams: Streams
  readonly #fields: string[] | null
  #table: Table | null = null
  #hasProgress = false

  constructor(streams: Streams, { json, fields }: Options) {
    this.#streams = streams
    this.isTerminal = streams.stdout.isTTY === true && streams.stderr.isTTY === true
    this.isJson = json === true || streams.stdout.isTTY !== true
    this.#fields = fields?.split(',').map(name => name.trim()) ?? null
  }

  /** Writes a record. */
  record(record: object): void {
    const shown = this.#pick(record as Item)
    this.#write(this.isJson ? JSON.stringify(shown) : recordText(shown))
  }

  /** Writes a page of a list as one record. Of its items, only the requested fields are written. */
  page(page: { data: object[] }): void {
    this.#write(JSON.stringify({ ...page, data: page.data.map(item => this.#pick(item as Item)) }))
  }

  /** Writes items of a list: a line of JSON each, or rows of a table with a header before the first row. */
  items(items: object[]): void {
    const shown = items.map(item => this.#pick(item as Item))
    if (this.isJson) {
      for (const item of shown) this.#write(JSON.stringify(item))
    } else if (shown.length > 0) {
      this.#table ??= new Table(shown, this.#streams.stdout.columns ?? COLUMNS, this.#fields)
      for (const line of this.#table.lines(shown)) this.#write(line)
    }
  }

  /** Writes text as it is. */
  text(text: string): void {
    this.#streams.stdout.write(text)
  }

  /** Writes text that is not a result to stderr. */
  note(text: string): void {
    this.#endProgress()
    this.#streams.stderr.write(`${plainText(text)}\n`)
  }

  /** Shows progress on a terminal, in place of the previous progress. `total` is null if it is not known. */
  progress(label: string, done: number, total: number | null): void {
    if (!this.#streams.stderr.isTTY) return
    const share = total === null || total === 0 ? '' : ` ${Math.floor((100 * done) / total)} %`
    this.#streams.stderr.write(
      `\r\u001b[K${label} ${done.toLocaleString('en')}${total === null ? '' : ` of ${total.toLocaleString('en')}`}${share}`,
    )
    this.#hasProgress = true
  }

  error(error: MailbrookError): void {
    this.#endProgress()
    const { statusCode, name, message } = error
    const details = Object.keys(error.details).length > 0 ? `\n${plainText(JSON.stringify(error.details))}` : ''
    const text = `mailbrook: ${plainText(message)} (${name}${statusCode ? `, ${statusCode}` : ''})${details}`
    this.#streams.stderr.write(`${this.isJson ? JSON.stringify({ ...error.toJSON(), ...error.details }) : text}\n`)
  }

  #endProgress(): void {
    if (this.#hasProgress) this.#streams.stderr.write('\n')
    this.#hasProgress = false
  }

  #write(line: string): void {
    this.#endProgress()
    this.#streams.stdout.write(`${line}\n`)
  }

  #pick(record: Item): Item {
    if (this.#fields === null) return record
    return Object.fromEntries(this.#fields.filter(name => name in record).map(name => [name, record[name]]))
  }
}
