import { z } from 'zod'
import { createUnsubscribeLinks } from '#flows/contacts/unsubscribe_links.ts'
import { createRenderEmail } from '#flows/contents/render_email.ts'
import { createTrackedBy, trackingOrigin } from '#flows/contents/tracked_by.ts'
import { ComposeError, UnsendableError } from '#flows/delivery/errors.ts'
import { createDkimKeys } from '#flows/domains/signing_keys.ts'
import type { ReadBlob } from '#flows/files/blobs.ts'
import { coalesce } from '#lib/async/coalesce.ts'
import type { Config } from '#lib/config.ts'
import { sizeOfTracking } from '#lib/contents/write_tracking.ts'
import type { TransportOptions } from '#lib/delivery/transport.ts'
import type { Log } from '#lib/log.ts'
import { domainOf } from '#lib/mail/address.ts'
import { MESSAGE, typeOfFile } from '#lib/mail/mime/attachment.ts'
import { base64LinesLength } from '#lib/mail/mime/base64.ts'
import type { Secrets } from '#lib/secrets.ts'
import { type EmailToSend, findEmailContents, listEmailsToSend } from '#sql/delivery/prepare/emails_to_send.ts'
import type { Pool } from '#sql/pool.ts'
import type { EmailId } from '#sql/sending/emails.ts'
import { composeEmail, mailbox, type Recipient } from './compose_email.ts'
import type { FetchFiles, StoredFile } from './fetch_attachments.ts'

/**
 * Messages with more bytes are large: they take their size from the room that all large messages of a process share.
 */
export const LARGE = 1 << 20

/** The domain that an email is from. `return_path`: where bounces return to, once its MX record is verified. */
export type SenderDomain = TransportOptions & { name: string; return_path: string | null }

/**
 * `size`: approximate bytes that composing and keeping the message takes. The message is composed once for all
 * recipients, or per recipient if the email is personal (lib/contents/compile_content.ts).
 */
export type Prepared = { sender: SenderDomain; size: number; compose(recipient: Recipient): Promise<Buffer> }
/** `onSlow` is called before it waits for a server of somebody else, which may be slow. */
export type PrepareMessage = (email: EmailId, onSlow?: () => void) => Promise<Prepared>

type Dependencies = {
  pool: Pool
  secrets: Secrets
  config: Config
  log: Log
  fetchFiles: FetchFiles
  readBlob: ReadBlob
  /** How long the keys of a domain are cached. */
  keys_ms: number
}

/**
 * Loads an email except its large parts, then composes and signs it. The same email always gives the same bytes, since
 * its date and boundary are frozen; only its signatures change when its domain has new keys.
 */
export function createPrepareMessage({ fetchFiles, readBlob, ...deps }: Dependencies): PrepareMessage {
  const { pool } = deps
  const dkimKeysOf = createDkimKeys(deps)
  const renderEmail = createRenderEmail(pool)
  const unsubscribeLinks = createUnsubscribeLinks(deps)
  const trackedBy = createTrackedBy(deps)
  const load = coalesce<EmailId, EmailToSend>(ids => loadEach(pool, ids), {
    in_flight: 2, // so that other mail does not wait for that of a campaign
    max_items: 100,
    interval_ms: 5,
  })

  return async (id, onSlow) => {
    let email = await load(id)
    if (!email.sendable || !email.domain_id) throw new UnsendableError('The domain may no longer send.')
    const keys = await dkimKeysOf(email.account_id, email.domain_id)
    const { return_path, tls, transport } = email
    const from = mailbox(email.from)
    const isSlow = email.attachments.some(({ blob_id }) => blob_id === null)
    // Many emails may wait for files or for room, so only their small parts stay in memory.
    if (isSlow) {
      email = withoutContents(email)
      onSlow?.()
    }
    const files = email.attachments.length > 0 ? await fetchFiles(email) : []
    const size = sizeOf(email, files, deps.config)
    const isWaiting = isSlow || size > LARGE
    const kept = isWaiting ? withoutContents(email) : email
    const ingredients = { from, keys, files, readBlob, renderEmail, unsubscribeLinks, trackedBy }
    return {
      sender: { name: domainOf(from.address), return_path, tls, transport },
      size,
      compose: async recipient =>
        composeEmail(isWaiting ? await withContents(pool, kept) : kept, recipient, ingredients),
    }
  }
}

/** Loads emails; if the stored data of one cannot be parsed, only that one fails. */
async function loadEach(pool: Pool, ids: EmailId[]): Promise<(EmailToSend | Error)[]> {
  try {
    const emails = new Map((await listEmailsToSend(pool, ids)).map(email => [email.id, email]))
    return ids.map(({ account_id, id }) => {
      const email = emails.get(id)
      return email?.account_id === account_id ? email : new UnsendableError('The email no longer exists.')
    })
  } catch (cause) {
    if (!(cause instanceof z.ZodError)) throw cause
    if (ids.length === 1) return [new ComposeError('Its stored data could not be read.', { cause })]
    return (await Promise.all(ids.map(id => loadEach(pool, [id])))).flat()
  }
}

/**
 * Estimates the memory of a message: a text takes its characters and its encoded lines, a file only the lines, an
 * attached message also the buffers that it is read into.
 */
function sizeOf(email: EmailToSend, files: StoredFile[], config: Config): number {
  const { content_size, tracking, tracking_host } = email
  const tracked_size = tracking === null ? 0 : sizeOfTracking(content_size, trackingOrigin(tracking_host, config))
  const text_size = content_size + tracked_size
  const sizeOfFile = ({ size, content_type, filename }: StoredFile) =>
    base64LinesLength(size) + (typeOfFile(content_type, filename) === MESSAGE ? 4 * size : 0)
  return files.reduce((sum, file) => sum + sizeOfFile(file), text_size + base64LinesLength(text_size))
}

function withoutContents(email: EmailToSend): EmailToSend {
  return { ...email, html: null, text: null }
}

async function withContents(pool: Pool, email: EmailToSend): Promise<EmailToSend> {
  const contents = await findEmailContents(pool, email)
  if (!contents) throw new UnsendableError('The email no longer exists.')
  return { ...email, ...contents }
}
