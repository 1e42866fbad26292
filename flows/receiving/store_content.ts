import type { Blobs } from '#flows/files/blobs.ts'
import { isAway } from '#flows/process/read_back.ts'
import { Breaker } from '#lib/async/circuit_breaker.ts'
import { Semaphore } from '#lib/async/semaphore.ts'
import type { Config } from '#lib/config.ts'
import { newId } from '#lib/ids.ts'
import type { Log } from '#lib/log.ts'
import type { IncomingContent } from '#lib/receiving/smtp/content.ts'
import type { SmtpLimits } from '#lib/receiving/smtp/limits.ts'
import { SmtpReplyError } from '#lib/receiving/smtp/reply_error.ts'
import { NoAnswerError, sqlState } from '#sql/pool.ts'

/** Maximum number of long messages written at the same time. S3 takes some megabytes of memory for each. */
const LONG_AT_ONCE = 20

/**
 * Maximum number of long messages that wait for a place. With those being written they are less than half of `SmtpLimits.storing`.
 */
const LONG_WAITING = 40

/**
 * One blob per account. `bytes`: content that is not written yet and goes into Postgres with the rows of the message.
 */
type StoredContent = { blob_ids: string[]; bytes: Buffer | null }

/** @throws {SmtpReplyError} 451 if a long message gets no place in time */
export type StoreContent = (account_ids: string[], content: IncomingContent) => Promise<StoredContent>

/**
 * Milliseconds that a long message waits for a place, and that a short one waits for a bucket before it goes to
 * Postgres.
 */
export type StorePatience = Pick<SmtpLimits, 'place_ms' | 'bucket_ms'>

type Dependencies = { config: Config; blobs: Blobs; log: Log; patience: StorePatience }

/**
 * Stores the content of a received message. A long message is written while it arrives, and takes one of a limited
 * number of places. A short message takes no place: it goes into Postgres with its rows. If there is a bucket, a short
 * message is written there first; if the bucket hangs or fails, it goes into Postgres instead, where its row finds it.
 */
export function createStoreContent({ config, blobs, log, patience }: Dependencies): StoreContent {
  const places = new Semaphore(LONG_AT_ONCE)
  const bucket = config.BLOB_STORE === 'postgres' ? null : new Breaker()

  const storeLong = async (account_ids: string[], content: IncomingContent): Promise<StoredContent> => {
    await waitForPlace(places, patience.place_ms)
    try {
      const blob_ids = await writeBlobs(blobs, account_ids, content)
      bucket?.succeeded()
      return { blob_ids, bytes: null }
    } finally {
      places.release()
    }
  }

  const storeShort = async (account_ids: string[], content: IncomingContent): Promise<StoredContent> => {
    const { bytes } = content
    const inPostgres = () => ({ blob_ids: account_ids.map(newId), bytes })
    if (!bucket || bucket.refuses()) return inPostgres()
    try {
      const blob_ids = await inTime(writeBlobs(blobs, account_ids, content), patience.bucket_ms)
      bucket.succeeded()
      return { blob_ids, bytes: null }
    } catch (error) {
      if (isOfPostgres(error)) {
        bucket.abstained()
        throw error
      }
      bucket.failed(String(error))
      log.warn(
        { err: error },
        'a received message is stored in Postgres, because it could not be written to the bucket',
      )
      return inPostgres()
    }
  }

  return (account_ids, content) => (content.bytes ? storeShort(account_ids, content) : storeLong(account_ids, content))
}

async function waitForPlace(places: Semaphore, ms: number): Promise<void> {
  const refuse = (cause?: unknown) => new SmtpReplyError(451, '4.3.0 Too many long messages, try again later', cause)
  if (places.waiting >= LONG_WAITING) throw refuse()
  await places.acquire(1, AbortSignal.timeout(ms)).catch(cause => {
    throw refuse(cause)
  })
}

/**
 * Rejects after `ms`. A blob that is stored later is not used; purge() deletes it after a day, since no row refers to
 * it.
 */
async function inTime<Value>(promise: Promise<Value>, ms: number): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no reply in ${ms} ms`)), ms)
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Returns true for errors of Postgres: storing the message there instead would fail as well. */
function isOfPostgres(error: unknown): boolean {
  return error instanceof NoAnswerError || isAway(error) || sqlState(error) !== null
}

/** Writes one blob per account. The incoming stream is read once, and the other blobs are copied from the first. */
async function writeBlobs(blobs: Blobs, account_ids: string[], content: IncomingContent): Promise<string[]> {
  const ids: string[] = []
  const [first = '', ...others] = account_ids
  const { id } = content.bytes
    ? await blobs.put(first, content.bytes, content.digest().sha256)
    : await blobs.write(first, content.chunks())
  ids.push(id)
  for (const other of others) {
    const copy = content.bytes
      ? await blobs.put(other, content.bytes, content.digest().sha256)
      : await blobs.write(other, blobs.read(first, id))
    ids.push(copy.id)
  }
  return ids
}
