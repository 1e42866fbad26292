import type { Blobs } from '#flows/files/blobs.ts'
import { type StringPart, TooLargeError } from '#lib/files/upload/extract_strings.ts'
import { GrowingBuffer } from '#lib/files/upload/growing_buffer.ts'
import { LongHtml } from '#lib/sending/long_html.ts'
import { MAX_LINK_KEY, mentionsLink } from '#lib/templates/personal_links.ts'
import { ArrivingBlob } from './arriving_blob.ts'

/** Bytes of the html of one batch that are kept in memory; the rest is stored as it arrives. */
export const MAX_KEPT = 2 * 1024 * 1024

/** The html of the emails of one batch, which arrive one after the other. */
export class ArrivingHtml {
  /** Bytes of html in memory. */
  kept = 0
  readonly #blobs: Blobs
  readonly #account_id: string
  readonly #max_bytes: number
  #bytes = new GrowingBuffer(MAX_KEPT)
  #blob: ArrivingBlob | null = null
  #length = 0
  #hasNul = false
  #mentionsLink = false
  /** The last bytes that have arrived: the name of a link may begin in one part and end in the next. */
  #tail: Buffer = Buffer.alloc(0)

  /** @param max_bytes maximum length of one html */
  constructor(blobs: Blobs, account_id: string, max_bytes: number) {
    this.#blobs = blobs
    this.#account_id = account_id
    this.#max_bytes = max_bytes
  }

  /** Returns the html after its last part, otherwise null. */
  async take({ bytes, is_last, is_well_formed }: StringPart): Promise<string | LongHtml | null> {
    this.#length += bytes.length
    if (this.#length > this.#max_bytes) throw new TooLargeError(`html of more than ${this.#max_bytes} bytes`)
    this.#hasNul ||= bytes.includes(0)
    this.#lookForLink(bytes)
    if (this.#blob) await this.#blob.write(bytes)
    else if (this.kept + this.#length <= MAX_KEPT) this.#bytes.append(bytes)
    else await this.#beginBlob(bytes)
    if (!is_last) return null

    const html = await this.#end()
    // Html that cannot be stored is replaced by its invalid character alone: the check of the whole body then finds that
    // and names the field.
    const fault = this.#hasNul ? '\u0000' : is_well_formed ? null : '\ud800'
    this.#hasNul = false
    return fault ?? html
  }

  /** Discards html that has not arrived completely. */
  async stop(): Promise<void> {
    await this.#blob?.stop()
    this.#blob = null
  }

  async #beginBlob(bytes: Buffer): Promise<void> {
    this.#blob = new ArrivingBlob(this.#blobs, this.#account_id)
    await this.#blob.write(this.#bytes.take())
    await this.#blob.write(bytes)
  }

  #lookForLink(bytes: Buffer): void {
    const seen = Buffer.concat([this.#tail, bytes])
    this.#mentionsLink ||= mentionsLink(seen)
    this.#tail = seen.subarray(-MAX_LINK_KEY)
  }

  async #end(): Promise<string | LongHtml> {
    const { length, mentions } = { length: this.#length, mentions: this.#mentionsLink }
    this.#length = 0
    this.#mentionsLink = false
    this.#tail = Buffer.alloc(0)
    if (!this.#blob) {
      this.kept += length
      return this.#bytes.take().toString()
    }
    const blob = await this.#blob.end()
    this.#blob = null
    return new LongHtml(blob, mentions)
  }
}
