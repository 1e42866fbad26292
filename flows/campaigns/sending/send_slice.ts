import { type AcceptedEmail, acceptEmails, type RefusedEmail } from '#flows/sending/accept_emails.ts'
import { toDraft } from '#flows/sending/draft_emails.ts'
import type { ResolvedEmail } from '#flows/templates/render_parts.ts'
import { sizesWith } from '#lib/contents/campaign/content_size.ts'
import { listPropertyKeys } from '#lib/contents/campaign/recipient_values.ts'
import { POLL_RENDERER } from '#lib/contents/compile_content.ts'
import { storedAddress } from '#lib/mail/address.ts'
import { clipSubject } from '#lib/mail/mail_fields.ts'
import { countCampaign } from '#sql/campaigns/counts.ts'
import { noteEmails } from '#sql/campaigns/sending/mailed_contacts.ts'
import {
  type Decided,
  lockPending,
  type PendingRecipient,
  updateRecipients,
} from '#sql/campaigns/sending/recipients.ts'
import { type Run, setWaitReason } from '#sql/campaigns/sending/runs.ts'
import type { Tx } from '#sql/pool.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import { readVariants, type SentVariant, type ValuedContact, valuesOf } from './campaign_values.ts'
import { findCapped } from './cap_frequency.ts'
import { type Wait, waitOf } from './wait_reasons.ts'

/** Maximum number of values of contacts per commit: each may have 2,000 characters. */
const MAX_VALUES = 32_000

/** `taken`: recipients that were due. `wait`: why some of them get theirs later. */
export type SentSlice = { taken: number; wait: Wait | null }

/**
 * Stores the emails of the next recipients of a run, and in the same commit which recipient each is for. The row of the
 * run must be locked. Recipients beyond a quota or a warm-up limit stay pending. Returns null if the content of the
 * campaign no longer exists.
 */
export async function sendSlice(tx: Tx, run: Run, limit: number, simulator_domain: string): Promise<SentSlice | null> {
  const variants = await readVariants(tx, run)
  if (!variants) return null
  const sent = [...variants.values()]
  const keys = listPropertyKeys(
    sent.map(({ subject }) => subject),
    sent.flatMap(({ content }) => content.keys),
  )
  const pending = await lockPending(tx, run, Math.min(limit, Math.max(1, Math.floor(MAX_VALUES / keys.length))), keys)
  const mailable = pending.filter((one): one is ValuedContact => one.reason === null && one.email !== null)
  const capped = await findCapped(
    tx,
    run,
    mailable.map(({ contact_id }) => contact_id),
  )
  const left = pending.flatMap(({ contact_id, variant, reason: own }) => {
    const reason = own ?? capped.get(contact_id)
    return reason ? [{ contact_id, variant, email_id: null, reason }] : []
  })
  const addressed = mailable.filter(({ contact_id }) => !capped.has(contact_id))
  const drafts = addressed.map(recipient =>
    draftOf(run, variants.get(recipient.variant) as SentVariant, recipient, simulator_domain),
  )
  const answers = drafts.length > 0 ? await acceptEmails(tx, drafts) : []
  const waits: Wait[] = []
  const decided: Decided[] = left
  for (const [n, answer] of answers.entries()) {
    const [recipient, draft] = [addressed[n] as PendingRecipient, drafts[n] as Draft]
    const decision = decide(answer, draft)
    if ('in_seconds' in decision) waits.push(decision)
    else decided.push({ contact_id: recipient.contact_id, variant: recipient.variant, ...decision })
  }
  await store(tx, run, decided)
  const wait = waits[0] ?? null
  if ((wait?.reason ?? null) !== run.pause_reason) await setWaitReason(tx, run, wait?.reason ?? null)
  return { taken: pending.length, wait }
}

function decide(answer: AcceptedEmail | RefusedEmail, draft: Draft): Pick<Decided, 'email_id' | 'reason'> | Wait {
  if ('id' in answer) return { email_id: answer.id, reason: null }
  switch (answer.fault) {
    case 'all_suppressed':
      return { email_id: null, reason: draft.recipients[0]?.reserved ? 'reserved_domain' : 'suppressed' }
    case 'topic_unknown':
      return { email_id: null, reason: 'not_subscribed_to_topic' }
    default:
      return waitOf(answer)
  }
}

async function store(tx: Tx, run: Run, decided: Decided[]): Promise<void> {
  if (decided.length > 0) await updateRecipients(tx, run, decided)
  const mailed = decided.flatMap(({ contact_id, email_id }) => (email_id === null ? [] : [{ contact_id, email_id }]))
  if (mailed.length > 0) await noteEmails(tx, run.account_id, mailed)
  const excluded = decided.filter(({ email_id }) => email_id === null)
  await countCampaign(
    tx,
    run,
    excluded.map(({ variant }) => ({ variant, name: 'excluded', by: 1 })),
  )
}

function draftOf(run: Run, variant: SentVariant, recipient: ValuedContact, simulator_domain: string): Draft {
  const { account_id, campaign_id, topic_id } = run
  const { content, content_id } = variant
  const { subject, variables } = valuesOf(recipient, content, variant.subject)
  const email: ResolvedEmail = {
    from: storedAddress(variant.sender),
    to: [storedAddress(recipient.email)],
    reply_to: run.reply_to.map(storedAddress),
    subject: clipSubject(subject),
    topic_id,
    content_id,
    variables,
    sizes: sizesWith(content, variables),
    has_links: true,
  }
  return {
    ...toDraft({ account_id, domain_id: null }, email, null, simulator_domain),
    priority: 10,
    campaign_id,
    campaign_run: run.run,
    contact_id: recipient.contact_id,
    track_opens: run.track_opens,
    track_clicks: run.track_clicks,
    ...(content.has_poll && run.poll_id ? { poll_id: run.poll_id, renderer: POLL_RENDERER } : {}),
  }
}
