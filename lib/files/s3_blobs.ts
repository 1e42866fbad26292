import type { S3 } from '@aws-sdk/client-s3'
import { type BlobStore, BlobStoreError } from './blob_store.ts'
import { S3Upload } from './s3_upload.ts'
import { parseS3Url, type S3Location } from './s3_url.ts'
import { partsOf } from './split_parts.ts'

/** Smallest part that S3 accepts, except for the last one: 5 MiB. */
const PART_BYTES = 5 * 1024 * 1024

const DELETES_AT_ONCE = 20

const CONNECT_MS = 5_000
const IDLE_MS = 30_000

/**
 * Blobs in a bucket of S3 or of a server with the same protocol. A blob larger than one part is sent as a multipart upload, which
 * is not an object until it is completed. It is aborted on failure; what a killed process leaves behind is removed by a lifecycle
 * rule of the bucket (AbortIncompleteMultipartUpload).
 *
 * @throws {RangeError} if the URL does not have the form of `parseS3Url`
 */
export function createS3Blobs(url: string): BlobStore {
  const location = parseS3Url(url)
  let opened: Promise<S3> | undefined
  const open = () => (opened ??= openS3(location))
  const objectOf = (key: string) => ({ Bucket: location.bucket, Key: location.prefix + key })

  return {
    async write(key, chunks) {
      const upload = new S3Upload(await open(), objectOf(key))
      try {
        for await (const part of partsOf(chunks, PART_BYTES)) await upload.add(part)
      } catch (error) {
        await upload.abort()
        throw blobStoreError(location, key, error)
      }
    },

    async *read(key) {
      const s3 = await open()
      try {
        const { Body } = await s3.getObject(objectOf(key))
        yield* Body as AsyncIterable<Buffer>
      } catch (error) {
        throw blobStoreError(location, key, error)
      }
    },

    // Deletes one by one: the request for many needs a checksum that servers disagree on, and some servers do not have it.
    async delete(keys) {
      const s3 = await open()
      for (let from = 0; from < keys.length; from += DELETES_AT_ONCE) {
        const some = keys.slice(from, from + DELETES_AT_ONCE)
        await Promise.all(some.map(key => s3.deleteObject(objectOf(key)).catch(unlessGone(location, key))))
      }
    },

    close() {
      void opened?.then(s3 => s3.destroy())
    },
  }
}

/** Loaded on first use: it takes 0.2 s and about 30 MB, which are not needed with blobs in Postgres. */
async function openS3({ region, endpoint, path_style, credentials }: S3Location): Promise<S3> {
  const { S3 } = await import('@aws-sdk/client-s3')
  return new S3({
    region,
    forcePathStyle: path_style,
    ...(endpoint ? { endpoint } : {}),
    ...(credentials ? { credentials } : {}),
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: IDLE_MS },
    // Many servers other than Amazon's reject the checksums that the SDK adds by default.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
}

/** Returns an error of the bucket with its name. Errors of the source of the chunks stay as they are. */
function blobStoreError({ bucket }: S3Location, key: string, error: unknown): unknown {
  const { name, message, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } }
  if (!$metadata) return error
  return new BlobStoreError(`Bucket ${bucket}, ${key}: ${name}: ${message}`, { cause: error })
}

function unlessGone(location: S3Location, key: string): (error: Error) => void {
  return error => {
    if (error.name !== 'NoSuchKey') throw blobStoreError(location, key, error)
  }
}
