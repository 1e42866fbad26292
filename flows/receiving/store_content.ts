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

/** Long messages that are being written at the same time. S3 takes some megabytes of memory for each. */
const LONG_AT_ONCE = 20

/** Long messages that wait for one of these places. With them they are less than half of `SmtpLimits.storing`. */
const LONG_WAITING = 40

/** A blob for each account. `bytes`: they are not written yet, and go into Postgres with the rows of the message. */
type StoredContent = { blob_ids: string[]; bytes: Buffer | null }

/** @throws {SmtpReplyError} 451 when a long message has found no place in time */
export type StoreContent = (account_ids: string[], content: IncomingContent) => Promise<StoredContent>

/** Milliseconds: how long a long message waits for a place, and a short one for a bucket before Postgres stores it. */
export type StorePatience = Pick<SmtpLimits, 'place_ms' | 'bucket_ms'>

type Dependencies = { config: Config; blobs: Blobs; log: Log; patience: StorePatience }

/**
 * Stores what a received message consists of. A long message is written while it arrives, and there are places for some
 * of them. A short one takes no place: it goes into Postgres with its rows. With a bucket it is written there first, but
 * a bucket that hangs or fails does not stop it: it goes into Postgres as well, where it is found by its row.
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
      log.warn({ err: error }, 'a received message is stored in Postgres, as its bucket does not take it')
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

/** A blob that is stored too late is not used: purge() deletes blobs that no row refers to after a day. */
async function inTime<Value>(promise: Promise<Value>, ms: number): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer in ${ms} ms`)), ms)
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Storing the message in Postgres instead would fail as well. */
function isOfPostgres(error: unknown): boolean {
  return error instanceof NoAnswerError || isAway(error) || sqlState(error) !== null
}

/** One blob for each account; what arrives is read once, and copied from the first. */
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
