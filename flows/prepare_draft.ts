import { v7 as uuid } from 'uuid'
import { ApiError } from '../lib/errors.ts'
import { type FetchPolicy, fetchPolicy, whyNotFetchable } from '../lib/fetch_safely.ts'
import { typeOfFile } from '../lib/mime/attachment.ts'
import type { NewAttachment } from '../lib/new_attachment.ts'
import type { NewEmail } from '../lib/new_email.ts'
import type { ContentSource } from '../lib/uploaded_content.ts'
import type { Draft, DraftAttachment } from '../sql/drafts.ts'
import type { Blobs } from './blobs.ts'
import { type RequestKey, type SendingParty, toDraft } from './draft_email.ts'
import type { Foundation } from './run_process.ts'

/** Makes the draft of a request, with its files stored. What cannot be sent is a draft with a refusal. */
export type PrepareDraft = (party: SendingParty, email: NewEmail, key: RequestKey | null) => Promise<Draft>

export function createPrepareDraft({ config, blobs }: Pick<Foundation, 'config'> & { blobs: Blobs }): PrepareDraft {
  const policy = fetchPolicy(config)

  return async (party, email, key) => {
    const draft = toDraft(party, email, key, config.SIMULATOR_DOMAIN)
    const files = email.attachments ?? []
    draft.refusal ??= refusalOf(files, policy)
    if (draft.refusal) return draft
    for (const file of files) draft.attachments.push(await storeFile(blobs, party.account_id, file))
    return draft
  }
}

/** What can be seen from a path alone. What it leads to is known when it is sent. */
function refusalOf(files: NewAttachment[], policy: FetchPolicy): ApiError | null {
  for (const [i, { path }] of files.entries()) {
    const reason = path ? whyNotFetchable(path, policy) : null
    if (reason) return new ApiError('validation_error', `Invalid \`attachments.${i}.path\` field: ${reason}.`)
  }
  return null
}

async function storeFile(blobs: Blobs, account_id: string, file: NewAttachment): Promise<DraftAttachment> {
  const { filename, content, path, content_id = null } = file
  return {
    id: uuid(),
    filename,
    content_type: file.content_type ?? typeOfFile(null, filename),
    content_disposition: file.content_disposition ?? (content_id ? 'inline' : 'attachment'),
    content_id,
    path: path ?? null,
    blob_id: content ? await blobOf(blobs, account_id, content.source) : null,
  }
}

async function blobOf(blobs: Blobs, account_id: string, source: ContentSource): Promise<string> {
  return 'blob_id' in source ? source.blob_id : (await blobs.put(account_id, source.bytes)).id
}
