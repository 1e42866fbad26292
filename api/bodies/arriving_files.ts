import type { Blobs } from '#flows/files/blobs.ts'
import { Base64Decoder } from '#lib/files/upload/base64_decoder.ts'
import type { StringPart } from '#lib/files/upload/extract_strings.ts'
import { FileDigest } from '#lib/files/upload/file_digest.ts'
import { UploadedContent, WrongContent } from '#lib/files/upload/uploaded_content.ts'
import { ArrivingBlob } from './arriving_blob.ts'

type Arriving = { decoder: Base64Decoder | FileDigest; blob: ArrivingBlob }

/** The files of one body. They arrive one after the other, and each is stored while it arrives. */
export class ArrivingFiles {
  readonly #blobs: Blobs
  readonly #account_id: string
  #current: Arriving | null = null

  constructor(blobs: Blobs, account_id: string) {
    this.#blobs = blobs
    this.#account_id = account_id
  }

  /** Returns the file after its last part, otherwise null. */
  async take({ bytes, is_list, is_last }: StringPart): Promise<UploadedContent | WrongContent | null> {
    this.#current ??= {
      decoder: is_list ? new FileDigest() : new Base64Decoder(),
      blob: new ArrivingBlob(this.#blobs, this.#account_id),
    }
    const { decoder, blob } = this.#current
    await blob.write(decoder.write(bytes))
    if (!is_last) return null

    const end = decoder.end()
    if ('fault' in end) {
      await this.stop()
      return new WrongContent(end.fault)
    }
    await blob.write(end.bytes)
    const { id } = await blob.end()
    this.#current = null
    return new UploadedContent(end.sha256.toString('hex'), end.size, { blob_id: id })
  }

  /** Discards a file that has not arrived completely. */
  async stop(): Promise<void> {
    const current = this.#current
    this.#current = null
    await current?.blob.stop()
  }
}
