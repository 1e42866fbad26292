import type { RefusedEmail } from '#flows/sending/accept_emails.ts'

/** Why the rest of a campaign waits though nobody paused it, and when it is tried again. */
export type Wait = { reason: string; in_seconds: number }

/** How long a pause or a fault lasts nobody knows. */
const RETRY_SECONDS = 30
/** A quota may be raised, and a warm-up turned off, before its time. */
const MAX_SECONDS = 10 * 60

const REASONS: Partial<Record<RefusedEmail['fault'], string>> = {
  daily_quota_exceeded: 'The quota of 24 hours is used up.',
  monthly_quota_exceeded: 'The quota of 30 days is used up.',
  reputation_limit_exceeded: 'The domain is new: the rest follows as its daily limit rises.',
  platform_paused: 'Sending is paused on this server.',
  account_paused: 'Sending is paused for this account.',
  domain_paused: 'Sending is paused for the domain.',
  domain_not_verified: 'The domain may not send at the moment.',
}

/** A campaign goes on by itself once the reason is gone. */
export function waitOf({ fault, detail }: RefusedEmail): Wait {
  return { reason: reasonOf(fault), in_seconds: Math.min(detail.retry_after ?? RETRY_SECONDS, MAX_SECONDS) }
}

/** A sentence for people, for `pause_reason`. */
export function reasonOf(fault: RefusedEmail['fault']): string {
  return REASONS[fault] ?? 'This server cannot send at the moment.'
}
