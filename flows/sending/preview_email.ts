import type { Foundation } from '#flows/process/run_process.ts'
import { renderWhole } from '#flows/templates/render_whole.ts'
import { resolveTemplates } from '#flows/templates/resolve_templates.ts'
import { ApiError } from '#lib/errors.ts'
import type { LongHtml } from '#lib/sending/long_html.ts'
import type { NewEmail } from '#lib/sending/new_email.ts'
import { judgeDraft } from '#sql/sending/accept/judge_draft.ts'
import { type SendingParty, toDraft } from './draft_emails.ts'
import { faultError } from './errors.ts'

export type EmailPreview = {
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  subject: string
  html: string | null
  text: string | null
  /** Recipients to whom it would not be sent. */
  dropped: string[]
}

/**
 * Renders an email and checks it as a send would, without sending it. @throws {ApiError} the error that the send would
 * have
 */
export async function previewEmail(
  { pool, config }: Pick<Foundation, 'pool' | 'config'>,
  caller: SendingParty,
  email: NewEmail,
): Promise<EmailPreview> {
  const [resolved] = await resolveTemplates(pool, caller.account_id, [email], noLongHtml)
  if (!resolved || resolved instanceof ApiError) throw resolved
  const draft = toDraft(caller, resolved, null, config.SIMULATOR_DOMAIN)
  if (draft.refusal) throw draft.refusal
  const { fault, detail, dropped } = await pool.transaction(tx => judgeDraft(tx, draft))
  if (fault) throw faultError({ fault, detail: detail ?? {} }, draft)
  const { html = null, text = null, variables, has_links } = resolved
  const parts = await renderWhole({ html: html as string | null, text, variables, has_links })
  const { sender, to, cc, bcc, subject } = draft
  return { from: sender, to, cc, bcc, subject, ...parts, dropped }
}

/** Never called: only routes that send store html as it arrives, instead of keeping it in memory. */
function noLongHtml(_: LongHtml): never {
  throw new Error('the html of a preview is already in memory')
}
