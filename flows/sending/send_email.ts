import type { NewEmail } from '#lib/sending/new_email.ts'
import type { Pool } from '#sql/pool.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import { type AcceptedEmail, createAcceptEmail } from './accept_emails.ts'
import type { RequestKey, SendingParty } from './draft_emails.ts'
import type { PrepareDrafts } from './prepare_drafts.ts'

/** Last changes to a draft before it is accepted. */
type Finish = (draft: Draft) => Draft | Promise<Draft>

/** Accepts one email to be sent, whoever asks for it: a request, a reply, a forward, an SMTP client. @throws {ApiError} */
export type SendEmail = (
  party: SendingParty,
  email: NewEmail,
  key: RequestKey | null,
  finish?: Finish,
) => Promise<AcceptedEmail>

export function createSendEmail(pool: Pool, prepareDrafts: PrepareDrafts): SendEmail {
  const acceptEmail = createAcceptEmail(pool)
  return async (party, email, key, finish = draft => draft) => {
    const [draft] = await prepareDrafts(party, [email], key)
    return acceptEmail(await finish(draft as Draft))
  }
}
