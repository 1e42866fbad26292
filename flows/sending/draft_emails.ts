import type { ResolvedEmail } from '#flows/templates/render_parts.ts'
import { ApiError } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { formatAddress } from '#lib/mail/address.ts'
import { isReservedDomain } from '#lib/mail/reserved_domains.ts'
import { simulatedOutcome } from '#lib/mail/simulator.ts'
import type { NewEmail } from '#lib/sending/new_email.ts'
import type { Draft, DraftRecipient } from '#sql/sending/accept/drafts.ts'
import { scheduleError } from './errors.ts'
import { storedParts } from './stored_parts.ts'

/** The sender: the account, and the domain that its key is restricted to. */
export type SendingParty = { account_id: string; domain_id: string | null }

/** The Idempotency-Key of a request. `fingerprint` is hex. */
export type RequestKey = { route: string; key: string; fingerprint: string }

/**
 * Makes the drafts of one request, without their files. `resolved`: each email with its values inserted, or the error
 * that prevents it.
 */
export function draftEmails(
  party: SendingParty,
  emails: NewEmail[],
  resolved: (ResolvedEmail | ApiError)[],
  request: RequestKey | null,
  simulator_domain: string,
): Draft[] {
  return resolved.map((result, position) => {
    if (!(result instanceof ApiError)) return toDraft(party, result, request, simulator_domain)
    const empty = { ...(emails[position] as NewEmail), ...NOTHING }
    const refusal = scheduleRefusal(empty) ?? result
    return { ...toDraft(party, empty, request, simulator_domain), refusal }
  })
}

/** Replaces fields of a refused email, of which nothing is stored. */
const NOTHING = {
  from: { name: null, address: '', domain: '' },
  subject: '',
  html: null,
  text: null,
  template_id: null,
  variables: undefined,
  poll: null,
}

/**
 * Returns a complete email as `accept_emails` takes it, with new ids and recipients by address. Files are added in
 * store_files.ts.
 */
export function toDraft(
  party: SendingParty,
  email: ResolvedEmail,
  request: RequestKey | null,
  simulator_domain: string,
): Draft {
  const id = newId()
  const recipients = recipientsOf(email, simulator_domain)
  const { scheduled_at: schedule } = email
  return {
    account_id: party.account_id,
    id,
    refusal: refusalOf(email, recipients),
    domain: email.from.domain,
    key_domain_id: party.domain_id,
    route: request?.route ?? '',
    key: request?.key ?? null,
    fingerprint: request?.fingerprint ?? null,
    message_id: `${id}@${email.from.domain}`,
    sender: formatAddress(email.from),
    to: email.to.map(formatAddress),
    cc: (email.cc ?? []).map(formatAddress),
    bcc: (email.bcc ?? []).map(formatAddress),
    reply_to: (email.reply_to ?? []).map(formatAddress),
    subject: email.subject,
    headers: email.headers ?? {},
    tags: email.tags ?? [],
    ...storedParts(email),
    template_id: email.template_id ?? null,
    topic_id: email.topic_id ?? null,
    track_opens: email.track_opens ?? null,
    track_clicks: email.track_clicks ?? null,
    ...(email.poll && { poll_id: newId(), poll: { ...email.poll, is_test: false } }),
    scheduled_at: schedule && !schedule.is_now ? schedule.at : null,
    attachments: [],
    recipients,
  }
}

function refusalOf(email: ResolvedEmail, recipients: DraftRecipient[]): ApiError | null {
  const late = scheduleRefusal(email)
  if (late) return late
  const { scheduled_at: schedule } = email
  if (!schedule || schedule.is_now || !recipients.some(({ simulated }) => simulated)) return null
  return new ApiError('validation_error', 'The simulator cannot be combined with `scheduled_at`.')
}

function scheduleRefusal({ scheduled_at: schedule }: Pick<ResolvedEmail, 'scheduled_at'>): ApiError | null {
  return schedule?.fault ? scheduleError(schedule.fault) : null
}

/** Returns one delivery per address, even if it is named several times or in another case; the first place counts. */
function recipientsOf(email: ResolvedEmail, simulator_domain: string): DraftRecipient[] {
  const recipients = new Map<string, DraftRecipient>()
  for (const visible_in of ['to', 'cc', 'bcc'] as const) {
    for (const address of email[visible_in] ?? []) {
      const key = address.address.toLowerCase()
      if (recipients.has(key)) continue
      const simulated = simulatedOutcome(address, simulator_domain) !== null
      recipients.set(key, {
        id: newId(),
        recipient: address.address,
        destination: address.domain,
        visible_in,
        reserved: isReservedDomain(address.domain) && !simulated,
        simulated,
      })
    }
  }
  return [...recipients.values()]
}
