import { PassThrough } from 'node:stream'
import type { Blobs } from '#flows/files/blobs.ts'
import { rechunk } from '#lib/files/chunker.ts'
import { Base64Decoder } from '#lib/files/upload/base64_decoder.ts'
import type { StringPart } from '#lib/files/upload/extract_strings.ts'
import { UploadedContent, WrongContent } from '#lib/files/upload/uploaded_content.ts'
import type { Blob } from '#sql/files/blobs.ts'

type Arriving = { decoder: Base64Decoder; pieces: PassThrough; blob: Promise<Blob> }

/** The files of one body, which come one after the other and are stored as they do. */
export class ArrivingFiles {
  readonly contents: (UploadedContent | WrongContent)[] = []
  readonly #blobs: Blobs
  readonly #account_id: string
  #current: Arriving | null = null

  constructor(blobs: Blobs, account_id: string) {
    this.#blobs = blobs
    this.#account_id = account_id
  }

  async take({ index, bytes, is_last }: StringPart): Promise<void> {
    this.#current ??= this.#begin()
    const { decoder, pieces, blob } = this.#current
    await this.#pass(decoder.write(bytes))
    if (!is_last) return

    const end = decoder.end()
    if ('fault' in end) {
      this.contents[index] = new WrongContent(end.fault)
      await this.stop()
      return
    }
    await this.#pass(end.bytes)
    pieces.end()
    const { id } = await blob
    this.contents[index] = new UploadedContent(end.sha256.toString('hex'), end.size, { blob_id: id })
    this.#current = null
  }

  /** What has arrived of a file that does not arrive whole is not kept. */
  async stop(): Promise<void> {
    const current = this.#current
    this.#current = null
    current?.pieces.destroy()
    await current?.blob.catch(() => {})
  }

  #begin(): Arriving {
    const pieces = new PassThrough({ objectMode: true, highWaterMark: 2 })
    const blob = this.#blobs.write(this.#account_id, rechunk(pieces))
    blob.catch(() => pieces.destroy()) // without the error, for which nobody may listen: the next to pass a piece is told
    return { decoder: new Base64Decoder(), pieces, blob }
  }

  async #pass(bytes: Buffer): Promise<void> {
    const { pieces, blob } = this.#current as Arriving
    if (bytes.length === 0) return
    if (pieces.destroyed) await blob
    if (!pieces.write(bytes)) await Promise.race([once(pieces, 'drain'), blob])
  }
}

function once(stream: PassThrough, event: string): Promise<void> {
  return new Promise(resolve => stream.once(event, () => resolve()))
}
