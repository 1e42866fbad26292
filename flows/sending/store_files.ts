import type { Blobs } from '#flows/files/blobs.ts'
import type { Config } from '#lib/config.ts'
import { ApiError } from '#lib/errors.ts'
import type { UploadedContent } from '#lib/files/upload/uploaded_content.ts'
import { newId } from '#lib/ids.ts'
import { typeOfFile } from '#lib/mail/mime/attachment.ts'
import { fetchPolicy, findUrlFault } from '#lib/net/fetch_safely.ts'
import type { NewAttachment } from '#lib/sending/new_attachment.ts'
import type { NewEmail } from '#lib/sending/new_email.ts'
import type { Draft, DraftAttachment } from '#sql/sending/accept/drafts.ts'

type Dependencies = { config: Config; blobs: Blobs }

/**
 * Stores the files of the emails of a request and adds them to their drafts. A draft with an invalid path is refused.
 */
export async function storeFiles(
  { config, blobs }: Dependencies,
  account_id: string,
  emails: NewEmail[],
  drafts: Draft[],
): Promise<void> {
  const storeContent = createStoreContent(blobs, account_id)
  for (const [i, draft] of drafts.entries()) {
    const files = emails[i]?.attachments ?? []
    draft.refusal ??= refusalOf(files, config)
    if (draft.refusal) continue
    for (const file of files) draft.attachments.push(await draftAttachment(file, storeContent))
  }
}

type StoreContent = (content: UploadedContent) => Promise<string>

/**
 * Returns a function that stores the contents of one request and returns their blob ids; equal contents, as in most
 * batches, are stored once.
 */
function createStoreContent(blobs: Blobs, account_id: string): StoreContent {
  const stored = new Map<string, string>()
  return async ({ sha256, source }) => {
    if ('blob_id' in source) return source.blob_id
    const id = stored.get(sha256) ?? (await blobs.put(account_id, source.bytes, sha256)).id
    stored.set(sha256, id)
    return id
  }
}

/** Checks only the text of paths. Their targets are checked when the email is sent. */
function refusalOf(files: NewAttachment[], config: Config): ApiError | null {
  if (!files.some(({ path }) => path)) return null
  const policy = fetchPolicy(config)
  for (const [i, { path }] of files.entries()) {
    const reason = path ? findUrlFault(path, policy) : null
    if (reason) return new ApiError('validation_error', `\`attachments[${i}].path\` ${reason}.`)
  }
  return null
}

async function draftAttachment(file: NewAttachment, storeContent: StoreContent): Promise<DraftAttachment> {
  const { filename, content, path, content_id = null } = file
  return {
    id: newId(),
    filename,
    content_type: file.content_type ?? typeOfFile(null, filename),
    content_disposition: file.content_disposition ?? (content_id ? 'inline' : 'attachment'),
    content_id,
    path: path ?? null,
    blob_id: content ? await storeContent(content) : null,
  }
}
