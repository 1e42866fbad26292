import { text } from 'node:stream/consumers'
import type { SharedSource } from '#flows/contents/share_contents.ts'
import type { Blobs } from '#flows/files/blobs.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { ApiError } from '#lib/errors.ts'
import type { UploadedContent } from '#lib/files/upload/uploaded_content.ts'
import { newId } from '#lib/ids.ts'
import { typeOfFile } from '#lib/mail/mime/attachment.ts'
import { type FetchPolicy, fetchPolicy, whyNotFetchable } from '#lib/net/fetch_safely.ts'
import { LongHtml } from '#lib/sending/long_html.ts'
import type { NewAttachment } from '#lib/sending/new_attachment.ts'
import type { NewEmail } from '#lib/sending/new_email.ts'
import { keepContents, type NewContent } from '#sql/contents/contents.ts'
import type { Draft, DraftAttachment } from '#sql/sending/accept/drafts.ts'
import { draftEmails, type RequestKey, type SendingParty } from './draft_emails.ts'

/** Makes the drafts of a request, with their files stored. What cannot be sent is a draft with a refusal. */
export type PrepareDrafts = (party: SendingParty, emails: NewEmail[], key: RequestKey | null) => Promise<Draft[]>

type Dependencies = Pick<Foundation, 'pool' | 'config'> & { blobs: Blobs }

export function createPrepareDrafts({ pool, config, blobs }: Dependencies): PrepareDrafts {
  const policy = fetchPolicy(config)

  return async (party, emails, key) => {
    const readHtml = ({ blob_id }: LongHtml) => text(blobs.read(party.account_id, blob_id))
    const { drafts, contents } = await draftEmails(pool, party, emails, key, config.SIMULATOR_DOMAIN, readHtml)
    const storeContent = createStoreContent(blobs, party.account_id)
    for (const [i, draft] of drafts.entries()) {
      const files = emails[i]?.attachments ?? []
      draft.refusal ??= refusalOf(files, policy)
      if (draft.refusal) continue
      for (const file of files) draft.attachments.push(await draftAttachment(file, storeContent))
    }
    const referred = new Set(drafts.flatMap(({ refusal, content_id }) => (refusal || !content_id ? [] : [content_id])))
    const kept = contents.filter(({ id }) => referred.has(id))
    const inMemory = kept.filter(hasHtmlInMemory)
    if (inMemory.length > 0) await keepContents(pool, party.account_id, inMemory)
    // One after the other: together they may be longer than a process can hold.
    for (const { html, ...content } of kept) {
      if (html instanceof LongHtml)
        await keepContents(pool, party.account_id, [{ ...content, html: await readHtml(html) }])
    }
    return drafts
  }
}

function hasHtmlInMemory(source: SharedSource): source is NewContent {
  return !(source.html instanceof LongHtml)
}

type StoreContent = (content: UploadedContent) => Promise<string>

/** Stores the contents of one request and answers the ids of their blobs: the same for the same, as in most batches. */
function createStoreContent(blobs: Blobs, account_id: string): StoreContent {
  const stored = new Map<string, string>()
  return async ({ sha256, source }) => {
    if ('blob_id' in source) return source.blob_id
    const id = stored.get(sha256) ?? (await blobs.put(account_id, source.bytes, sha256)).id
    stored.set(sha256, id)
    return id
  }
}

/** What can be seen from a path alone. What it leads to is known when it is sent. */
function refusalOf(files: NewAttachment[], policy: FetchPolicy): ApiError | null {
  for (const [i, { path }] of files.entries()) {
    const reason = path ? whyNotFetchable(path, policy) : null
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
