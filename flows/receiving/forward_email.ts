import { ApiError, notFound } from '#lib/errors.ts'
import { MAX_FILE_BYTES } from '#lib/files/upload/file_digest.ts'
import { UploadedContent } from '#lib/files/upload/uploaded_content.ts'
import { type Address, parseAddress } from '#lib/mail/address.ts'
import { safeContentType, safeFilename, validateContentId, withCharset } from '#lib/mail/attachment_limits.ts'
import { forwardSubject, safeSubject } from '#lib/mail/threading.ts'
import type { NewForward } from '#lib/receiving/new_reply.ts'
import { shownContentIds } from '#lib/receiving/parse/shown_files.ts'
import { type NewAttachment, NewAttachments } from '#lib/sending/new_attachment.ts'
import type { NewEmail } from '#lib/sending/new_email.ts'
import { withoutLinks } from '#lib/templates/personal_links.ts'
import { listSendingDomains } from '#sql/domains/mail_domains.ts'
import { useBlob } from '#sql/files/blobs.ts'
import type { Queryable } from '#sql/pool.ts'
import type { EmailToForward } from '#sql/receiving/emails_to_answer.ts'

/**
 * Makes the email that forwards a received one, to be accepted like any other: with its content and files, or with a
 * note and the raw message as a file. Files are not copied. @throws {ApiError} if a part is no longer stored, or too
 * large
 */
export async function forwardEmail(
  db: Queryable,
  account_id: string,
  original: EmailToForward,
  forward: NewForward,
): Promise<NewEmail> {
  const { passthrough, ...fields } = forward
  const isWhole = passthrough !== false
  if (isWhole && !original.is_readable) {
    throw new ApiError(
      'validation_error',
      'This email could not be read: set `passthrough` to false to forward its raw message.',
    )
  }
  const shown = shownContentIds(original.html)
  const files = isWhole ? original.attachments.map(file => showFile(file, shown)) : [rawFile(original)]
  return {
    ...fields,
    ...(isWhole ? partsOf(original) : {}),
    from: forward.from ?? (await receivedAt(db, account_id, original)),
    subject: forward.subject ?? (isWhole ? safeSubject : forwardSubject)(original.subject),
    attachments: await attach(db, account_id, files),
    poll: null,
  }
}

/** A stranger who writes `{{unsubscribe_url}}` must not get the link of whoever the email is forwarded to. */
function partsOf({ html, text }: EmailToForward) {
  return { html: html && withoutLinks(html, 'html'), text: text && withoutLinks(text, 'text') }
}

type File = EmailToForward['attachments'][number]

/** Makes an image in the HTML inline, whatever its disposition. */
function showFile(file: File, shown: Set<string>): File {
  return file.content_id !== null && shown.has(file.content_id) ? { ...file, content_disposition: 'inline' } : file
}

function rawFile({ raw_sha256 }: EmailToForward): File {
  if (raw_sha256 === null) throw notFound('Raw message')
  const filename = 'forwarded_message.eml'
  return {
    filename,
    content_type: 'message/rfc822',
    charset: null,
    content_disposition: 'attachment',
    content_id: null,
    sha256: raw_sha256,
  }
}

/** Returns the first address that the email was received at and that may send. */
async function receivedAt(db: Queryable, account_id: string, { received_for }: EmailToForward): Promise<Address> {
  const addresses = received_for.map(text => parseAddress(text)).filter(address => address !== null)
  const names = await listSendingDomains(
    db,
    account_id,
    addresses.map(address => address.domain),
  )
  const from = addresses.find(({ domain }) => names.includes(domain))
  if (from) return from
  const message = 'Missing `from` field: no address that received this email can send.'
  throw new ApiError('missing_required_field', message)
}

/** Attaches files that are stored as blobs; their retention starts again as for new ones. */
async function attach(db: Queryable, account_id: string, files: File[]): Promise<NewAttachment[]> {
  const attachments: NewAttachment[] = []
  for (const { sha256, ...head } of files) {
    const blob = sha256 === null ? null : await useBlob(db, account_id, sha256)
    if (!blob) throw refused(`the file ${JSON.stringify(safeFilename(head.filename))} is not kept`)
    if (blob.size > MAX_FILE_BYTES) throw refused(`a file is larger than ${MAX_FILE_BYTES} bytes`)
    const content = new UploadedContent(blob.sha256, blob.size, { blob_id: blob.id })
    attachments.push({ ...safeHead(head), content })
  }
  const { success, error } = NewAttachments.safeParse(attachments)
  if (!success) throw refused(`its attachments ${error.issues[0]?.message}`)
  return attachments
}

/** Returns the header fields of a stranger's file in a form that a caller could have sent. */
function safeHead({ filename, content_type, charset, content_disposition, content_id }: Omit<File, 'sha256'>) {
  return {
    filename: safeFilename(filename),
    content_type: withCharset(safeContentType(content_type), charset),
    content_disposition,
    content_id: content_id !== null && validateContentId(content_id) === null ? content_id : null,
  }
}

function refused(why: string): ApiError {
  return new ApiError('validation_error', `This email cannot be forwarded: ${why}.`)
}
