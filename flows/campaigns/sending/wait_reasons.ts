import type { RefusedEmail } from '#flows/sending/accept_emails.ts'

/** The reason why a campaign waits though nobody paused it, and when it is retried. */
export type Wait = { reason: string; in_seconds: number }

/** Used for a pause or a fault, whose duration is unknown. */
const RETRY_SECONDS = 30
/** Longest wait: a quota may be raised, or a warm-up turned off, at any time. */
const MAX_SECONDS = 10 * 60

export const MANY_DEFERRED = 'Too many emails wait for servers that refuse them at the moment.'

const REASONS: Partial<Record<RefusedEmail['fault'], string>> = {
  daily_quota_exceeded: 'The quota of 24 hours is used up.',
  monthly_quota_exceeded: 'The quota of 30 days is used up.',
  reputation_limit_exceeded: 'The domain is new: the rest follows as its daily limit rises.',
  platform_paused: 'Sending is paused on this server.',
  account_paused: 'Sending is paused for this account.',
  domain_paused: 'Sending is paused for the domain.',
  domain_not_verified: 'The domain may not send at the moment.',
}

/** Returns the wait for a refusal. The campaign continues by itself once the reason is gone. */
export function waitOf({ fault, detail }: RefusedEmail): Wait {
  return { reason: reasonOf(fault), in_seconds: Math.min(detail.retry_after ?? RETRY_SECONDS, MAX_SECONDS) }
}

/** Returns a sentence for `pause_reason`. */
export function reasonOf(fault: RefusedEmail['fault']): string {
  return REASONS[fault] ?? 'This server cannot send at the moment.'
}
