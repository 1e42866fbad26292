import { ComposeError, UnsendableError } from '#flows/delivery/errors.ts'
import type { Blobs } from '#flows/files/blobs.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { FairQueue } from '#lib/async/fair_queue.ts'
import { rechunk } from '#lib/files/chunker.ts'
import { MAX_FILE_BYTES } from '#lib/files/upload/file_digest.ts'
import { download, FetchError, fetchPolicy } from '#lib/net/fetch_safely.ts'
import { MAX_ATTACHMENTS_BYTES } from '#lib/sending/new_attachment.ts'
import type { AttachmentToSend, EmailToSend } from '#sql/delivery/prepare/emails_to_send.ts'
import { setAttachmentBlob } from '#sql/sending/attachments.ts'

/** A file of an email whose content is stored. */
export type StoredFile = AttachmentToSend & { blob_id: string; size: number }

/** Time limit from the first byte of the request to the last byte of the file. */
const DEADLINE_MS = 60_000
const MAX_REDIRECTS = 3

/** Maximum number of files fetched at the same time, in all and per account: all paths of an account may lead to slow servers. */
const AT_ONCE = 32
const AT_ONCE_PER_ACCOUNT = 8

/**
 * Returns the files of an email, all of them stored. The file at a path is fetched once, for the first attempt: later
 * attempts send the same bytes even if the path has changed.
 *
 * @throws {UnsendableError} if a file can never be fetched; {ComposeError} if it may be fetched later
 */
export type FetchFiles = (email: EmailToSend) => Promise<StoredFile[]>

export function createFetchFiles({ pool, config, log, blobs, signal }: Dependencies): FetchFiles {
  const policy = fetchPolicy(config)
  const inTurn = takeTurns()

  const fetchFile = async (account_id: string, file: AttachmentToSend, max_bytes: number): Promise<StoredFile> => {
    const url = file.path as string
    try {
      const request = { url, max_bytes, deadline_ms: DEADLINE_MS, max_redirects: MAX_REDIRECTS, signal }
      const { body, close } = await download(request, policy)
      const fetched = await blobs.write(account_id, rechunk(body)).finally(close)
      const blob = await setAttachmentBlob(pool, { account_id, id: file.id }, fetched.id)
      return { ...file, blob_id: blob.id, size: blob.size }
    } catch (error) {
      if (!(error instanceof FetchError)) throw error
      log.warn({ attachment_id: file.id, detail: error.detail }, 'an attachment could not be fetched')
      const Failure = error.is_permanent ? UnsendableError : ComposeError
      throw new Failure(`The file ${file.filename} could not be fetched: ${error.reason}`, { cause: error })
    }
  }

  return async ({ account_id, attachments }) => {
    let left = attachments.reduce((sum, { size }) => sum - (size ?? 0), MAX_ATTACHMENTS_BYTES)
    const files: StoredFile[] = []
    for (const file of attachments) {
      const stored = isStored(file)
        ? file
        : await inTurn(account_id, () => fetchFile(account_id, file, Math.min(left, MAX_FILE_BYTES)))
      if (file.size === null) left -= stored.size
      files.push(stored)
    }
    return files
  }
}

function takeTurns(): <T>(account_id: string, act: () => Promise<T>) => Promise<T> {
  const turns = new FairQueue<() => void>(AT_ONCE, AT_ONCE_PER_ACCOUNT)
  const pump = () => {
    for (let begin = turns.take(); begin; begin = turns.take()) begin()
  }
  return async (account_id, act) => {
    await new Promise<void>(begin => {
      turns.push(account_id, begin)
      pump()
    })
    return act().finally(() => {
      turns.free(account_id)
      pump()
    })
  }
}

/** `signal`: aborted when the process stops; then nothing more is fetched. */
type Dependencies = Pick<Foundation, 'pool' | 'config' | 'log'> & { blobs: Blobs; signal: AbortSignal }

function isStored(file: AttachmentToSend): file is StoredFile {
  return file.blob_id !== null && file.size !== null
}
