import { z } from 'zod'
import { createRenderEmail, type RenderEmail, RenderError } from '#flows/contents/render_email.ts'
import { createDkimKeys } from '#flows/domains/signing_keys.ts'
import type { ReadBlob } from '#flows/files/blobs.ts'
import { coalesce } from '#lib/async/coalesce.ts'
import type { Wishes } from '#lib/delivery/transport.ts'
import type { Log } from '#lib/log.ts'
import { domainOf, parseAddress } from '#lib/mail/address.ts'
import { composeAndSign } from '#lib/mail/compose.ts'
import type { DkimKey } from '#lib/mail/dkim.ts'
import type { Mailbox, Message } from '#lib/mail/message.ts'
import { MESSAGE, typeOfFile } from '#lib/mail/mime/attachment.ts'
import { base64LinesLength } from '#lib/mail/mime/base64.ts'
import type { Secrets } from '#lib/secrets.ts'
import { type EmailToSend, findEmailContents, listEmailsToSend } from '#sql/delivery/emails_to_send.ts'
import type { Pool } from '#sql/pool.ts'
import type { EmailId } from '#sql/sending/emails.ts'
import { ComposeError, UnsendableError } from './errors.ts'
import type { FetchFiles, StoredFile } from './fetch_attachments.ts'

/** The store of files failed, as the database may: no fault of the email. */
class ReadFileError extends Error {}

/** Bytes over which a message is large, and takes its size from the room that all large messages of a process share. */
export const LARGE = 1 << 20

/** Of the domain that an email is from; `return_path` is where bounces come back to once its MX record is verified. */
export type SenderDomain = Wishes & { name: string; return_path: string | null }

/** `size` is what composing the message and keeping it takes, in bytes, more or less. Composing is done once. */
export type Prepared = { sender: SenderDomain; size: number; compose(): Promise<Buffer> }
/** `onSlow` is called when it will have to wait for servers of strangers, before it does. */
export type PrepareMessage = (email: EmailId, onSlow?: () => void) => Promise<Prepared>

type Dependencies = {
  pool: Pool
  secrets: Secrets
  log: Log
  fetchFiles: FetchFiles
  readBlob: ReadBlob
  /** How long the keys of a domain are remembered. */
  keys_ms: number
}

/**
 * Loads an email but what is large of it, then composes and signs. The same email gives the same bytes every time: its
 * date and boundary are frozen. Only its signatures are others once its domain has other keys.
 */
export function createPrepareMessage({ fetchFiles, readBlob, ...deps }: Dependencies): PrepareMessage {
  const { pool } = deps
  const dkimKeysOf = createDkimKeys(deps)
  const renderEmail = createRenderEmail(pool)
  const load = coalesce<EmailId, EmailToSend>(ids => loadEach(pool, ids), {
    in_flight: 1,
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
    // Many may wait, for files or for room, with nothing in memory but what is small of them.
    if (isSlow) {
      email = withoutContents(email)
      onSlow?.()
    }
    const files = email.attachments.length > 0 ? await fetchFiles(email) : []
    const size = sizeOf(email, files)
    const isWaiting = isSlow || size > LARGE
    const kept = isWaiting ? withoutContents(email) : email
    const parts = { from, keys, files, readBlob, renderEmail }
    return {
      sender: { name: domainOf(from.address), return_path, tls, transport },
      size,
      compose: async () => compose(isWaiting ? await withContents(pool, kept) : kept, parts),
    }
  }
}

/** When what is stored of one email cannot be read, that one alone fails. */
async function loadEach(pool: Pool, ids: EmailId[]): Promise<(EmailToSend | Error)[]> {
  try {
    const emails = new Map((await listEmailsToSend(pool, ids)).map(email => [email.id, email]))
    return ids.map(({ account_id, id }) => {
      const email = emails.get(id)
      return email?.account_id === account_id ? email : new UnsendableError('The email no longer exists.')
    })
  } catch (cause) {
    if (!(cause instanceof z.ZodError)) throw cause
    if (ids.length === 1) return [new ComposeError('What is stored of it could not be read.', { cause })]
    return (await Promise.all(ids.map(id => loadEach(pool, [id])))).flat()
  }
}

/** A text takes its characters and the lines that encode it, a file only the lines, a message also what it is read into. */
function sizeOf({ content_size }: EmailToSend, files: StoredFile[]): number {
  const sizeOfFile = ({ size, content_type, filename }: StoredFile) =>
    base64LinesLength(size) + (typeOfFile(content_type, filename) === MESSAGE ? 4 * size : 0)
  return files.reduce((sum, file) => sum + sizeOfFile(file), content_size + base64LinesLength(content_size))
}

function withoutContents(email: EmailToSend): EmailToSend {
  return { ...email, html: null, text: null }
}

async function withContents(pool: Pool, email: EmailToSend): Promise<EmailToSend> {
  const contents = await findEmailContents(pool, email)
  if (!contents) throw new UnsendableError('The email no longer exists.')
  return { ...email, ...contents }
}

type Parts = { from: Mailbox; keys: DkimKey[]; files: StoredFile[]; readBlob: ReadBlob; renderEmail: RenderEmail }

async function compose(email: EmailToSend, { from, keys, files, readBlob, renderEmail }: Parts): Promise<Buffer> {
  const { html, text } = await renderEmail(email).catch(unsendable)
  // Only mail that was submitted by SMTP has these two among its own.
  const { Date: own_date, Sender: sender, ...headers } = email.headers
  const message: Message = {
    message_id: email.message_id,
    date: email.submitted_at,
    own_date,
    from,
    sender: sender === undefined ? undefined : mailbox(sender),
    to: email.to.map(mailbox),
    cc: email.cc.map(mailbox),
    reply_to: email.reply_to.map(mailbox),
    subject: email.subject,
    headers: fieldsOf(headers),
    text,
    html,
    attachments: files.map(file => ({ ...file, read: () => readFile(() => readBlob(email.account_id, file.blob_id)) })),
    seed: email.id,
  }
  try {
    return await composeAndSign(message, keys)
  } catch (cause) {
    if (cause instanceof ReadFileError) throw cause
    throw new ComposeError(`It could not be composed: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

function unsendable(error: unknown): never {
  throw error instanceof RenderError ? new UnsendableError(error.message, { cause: error }) : error
}

/** Submitted mail may have fields of one name, whose values lie on lines of their own; no other value has a line break. */
function fieldsOf(headers: Record<string, string>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.split('\n')]))
}

async function* readFile(read: () => AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  try {
    yield* read()
  } catch (cause) {
    throw new ReadFileError(`An attachment could not be read: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    })
  }
}

function mailbox(text: string): Mailbox {
  const address = parseAddress(text)
  if (!address) throw new UnsendableError(`The stored address ${JSON.stringify(text)} is not valid.`)
  return { name: address.name, address: address.address }
}
