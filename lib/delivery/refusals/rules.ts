import type { Reply, Stage } from '#lib/delivery/smtp_reply.ts'
import { AGAINST_US } from './against_us.ts'
import { MESSAGES } from './message.ts'
import { EXPIRED, PASSING, SENDERS } from './passing.ts'
import { RECIPIENTS } from './recipient.ts'
import { applies, type Rule } from './rule.ts'
import { RECIPIENT_STATUSES, STATUSES } from './statuses.ts'
import { VAGUE } from './vague.ts'

/**
 * All rules in order: the first that applies decides. Unambiguous words come before the codes, since the codes of servers are
 * often wrong; ambiguous words come after them. At least one rule applies to each refusal of MAIL, RCPT or DATA.
 */
export const RULES: readonly Rule[] = [
  ...AGAINST_US,
  ...PASSING,
  ...SENDERS,
  ...RECIPIENTS,
  ...EXPIRED,
  ...STATUSES,
  ...MESSAGES,
  ...RECIPIENT_STATUSES,
  ...VAGUE,
]

/** Returns the rule for a 5xx reply. Its `text` must not contain addresses (withoutAddresses). */
export function findRule(reply: Reply & { stage: Exclude<Stage, 'connect'> }): Rule {
  return RULES.find(rule => applies(rule, reply)) as Rule
}

/** Tells whether the words of a reply give a reason, that is, whether a rule knows them. */
export function saysWhy(text: string): boolean {
  return RULES.some(({ words }) => words?.test(text))
}
