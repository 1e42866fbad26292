import { type RenderEmail, RenderError } from '#flows/contents/render_email.ts'
import { ComposeError, UnsendableError } from '#flows/delivery/errors.ts'
import type { ReadBlob } from '#flows/files/blobs.ts'
import { parseAddress } from '#lib/mail/address.ts'
import { composeAndSign } from '#lib/mail/compose.ts'
import type { DkimKey } from '#lib/mail/dkim.ts'
import type { Mailbox, Message } from '#lib/mail/message.ts'
import type { EmailToSend } from '#sql/delivery/emails_to_send.ts'
import type { StoredFile } from './fetch_attachments.ts'

/** The store of files failed, as the database may: no fault of the email. */
class ReadFileError extends Error {}

type Ingredients = { from: Mailbox; keys: DkimKey[]; files: StoredFile[]; readBlob: ReadBlob; renderEmail: RenderEmail }

/** Renders, composes and signs an email. @throws {UnsendableError | ComposeError} */
export async function composeEmail(
  email: EmailToSend,
  { from, keys, files, readBlob, renderEmail }: Ingredients,
): Promise<Buffer> {
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

export function mailbox(text: string): Mailbox {
  const address = parseAddress(text)
  if (!address) throw new UnsendableError(`The stored address ${JSON.stringify(text)} is not valid.`)
  return { name: address.name, address: address.address }
}
