import type { CompletedPart, S3 } from '@aws-sdk/client-s3'
import type { StreamPart } from './split_parts.ts'

/** Uploads one object: in one request if it is small, else in parts. */
export class S3Upload {
  readonly #s3: S3
  readonly #object: { Bucket: string; Key: string }
  #uploadId: string | undefined
  readonly #parts: CompletedPart[] = []

  constructor(s3: S3, object: { Bucket: string; Key: string }) {
    this.#s3 = s3
    this.#object = object
  }

  /** Adds a part. The object exists once its last part is added. */
  async add({ bytes, isLast }: StreamPart): Promise<void> {
    if (isLast && !this.#uploadId) {
      await this.#s3.putObject({ ...this.#object, Body: bytes })
      return
    }
    this.#uploadId ??= (await this.#s3.createMultipartUpload(this.#object)).UploadId
    const part = { ...this.#object, UploadId: this.#uploadId, PartNumber: this.#parts.length + 1 }
    const { ETag } = await this.#s3.uploadPart({ ...part, Body: bytes })
    this.#parts.push({ ETag, PartNumber: part.PartNumber })
    if (isLast) await this.#complete()
  }

  /** Never fails: it is called after another failure, which is the one to report. */
  async abort(): Promise<void> {
    if (!this.#uploadId) return
    await this.#s3.abortMultipartUpload({ ...this.#object, UploadId: this.#uploadId }).catch(() => {})
  }

  async #complete(): Promise<void> {
    const MultipartUpload = { Parts: this.#parts }
    await this.#s3.completeMultipartUpload({ ...this.#object, UploadId: this.#uploadId, MultipartUpload })
  }
}
