import { text } from 'node:stream/consumers'
import { shareContents } from '#flows/contents/share_contents.ts'
import type { Blobs } from '#flows/files/blobs.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import type { ReadHtml, ResolvedEmail } from '#flows/templates/render_parts.ts'
import { resolveTemplates } from '#flows/templates/resolve_templates.ts'
import { insertPollHtml } from '#lib/contents/insert_poll.ts'
import { ApiError } from '#lib/errors.ts'
import type { NewEmail } from '#lib/sending/new_email.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import type { AcceptedEmail } from './accept_emails.ts'
import { draftEmails, type RequestKey, type SendingParty } from './draft_emails.ts'
import { faultError } from './errors.ts'
import { storeReferredContents } from './store_contents.ts'
import { storeFiles } from './store_files.ts'
import type { AcceptEmail } from './together/accept_together.ts'

type DraftingServices = Pick<Foundation, 'pool' | 'config'> & { blobs: Blobs }

/** `acceptEmail`: shared by the whole process, so that concurrent sends share commits. */
export type SendingServices = DraftingServices & { acceptEmail: AcceptEmail }

/** Makes the caller's last changes to a draft before it is accepted, if there are any. */
type Finish = (draft: Draft) => Draft | Promise<Draft>

/**
 * Sends an email of any source: a request, a reply, a forward, an SMTP client. It is stored once this resolves.
 *
 * An invalid email does not fail early. Its fault becomes the `refusal` of the draft, since only the statement that
 * accepts it finds out whether the key has an answer already: a retry gets that answer even if the template is gone by
 * then.
 *
 * @throws {ApiError}
 */
export async function sendEmail(
  services: SendingServices,
  caller: SendingParty,
  email: NewEmail,
  key: RequestKey | null,
  finish: Finish = draft => draft,
): Promise<AcceptedEmail> {
  const [prepared] = await prepareDrafts(services, caller, [email], key)
  const draft = await finish(prepared as Draft)
  // One statement checks its key, domain, suppressions, pauses and quotas (sql/sending/accept/accept_emails.sql).
  const outcome = await services.acceptEmail(draft)
  if ('fault' in outcome) throw faultError(outcome, draft)
  return outcome
}

/**
 * Makes the drafts of a request, and stores the contents and files that they refer to. A draft that cannot be sent has
 * a refusal.
 */
export async function prepareDrafts(
  { pool, config, blobs }: DraftingServices,
  caller: SendingParty,
  emails: NewEmail[],
  key: RequestKey | null,
): Promise<Draft[]> {
  const { account_id } = caller
  const readHtml: ReadHtml = async ({ blob_id, poll }) => {
    const html = await text(blobs.read(account_id, blob_id))
    return poll ? insertPollHtml(html, poll) : html
  }
  const results = await resolveTemplates(pool, account_id, emails, readHtml)
  const contents = shareContents(results.filter(isResolved))
  const drafts = draftEmails(caller, emails, results, key, config.SIMULATOR_DOMAIN)
  await storeFiles({ config, blobs }, account_id, emails, drafts)
  await storeReferredContents(pool, account_id, contents, drafts, readHtml)
  return drafts
}

function isResolved(result: ResolvedEmail | ApiError): result is ResolvedEmail {
  return !(result instanceof ApiError)
}
