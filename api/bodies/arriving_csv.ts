import { Writable } from 'node:stream'
import type { ImportFile } from '#flows/contacts/import/create_import.ts'
import { ApiError } from '#lib/errors.ts'
import { type HeaderError, requireFirstLine } from '#lib/files/csv/header.ts'
import { EncodingProbe, HEAD_BYTES } from '#lib/files/csv/text_encoding.ts'
import type { ArrivingBlob } from './arriving_blob.ts'

/** Stores what is written to it. `arrived` is set once it has finished. A file without a header is refused once its first bytes have arrived. */
export class ArrivingCsv extends Writable {
  arrived: ImportFile | undefined
  fault: unknown
  readonly #blob: ArrivingBlob
  readonly #probe = new EncodingProbe()

  constructor(blob: ArrivingBlob) {
    super()
    this.#blob = blob
  }

  override _write(chunk: Buffer, _: unknown, done: (error?: Error) => void): void {
    const store = async () => {
      this.#checkHeader(chunk)
      await this.#blob.write(chunk)
    }
    store().then(() => done(), this.#failing(done))
  }

  override _final(done: (error?: Error) => void): void {
    const end = async () => {
      const { id, sha256 } = await this.#blob.end()
      this.arrived = { ...this.#probe.end(), blob_id: id, sha256 }
    }
    end().then(() => done(), this.#failing(done))
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#blob.stop().then(() => done(error))
  }

  /** Checks the header once, when the first `HEAD_BYTES` bytes have arrived. */
  #checkHeader(chunk: Buffer): void {
    const isShort = this.#probe.head.length < HEAD_BYTES
    this.#probe.push(chunk)
    if (!isShort || this.#probe.head.length < HEAD_BYTES) return
    try {
      requireFirstLine(this.#probe.head)
    } catch (error) {
      throw new ApiError('validation_error', (error as HeaderError).message, { cause: error })
    }
  }

  /** Keeps the error of the store or of the header, since formidable may report another one in its place. */
  #failing(done: (error: Error) => void): (error: Error) => void {
    return error => {
      this.fault = error
      done(error)
    }
  }
}
