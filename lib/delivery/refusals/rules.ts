import type { Reply, Stage } from '#lib/delivery/smtp_reply.ts'
import { AGAINST_US } from './against_us.ts'
import { MESSAGES } from './message.ts'
import { EXPIRED, PASSING, SENDERS } from './passing.ts'
import { RECIPIENTS } from './recipient.ts'
import { applies, type Rule } from './rule.ts'
import { RECIPIENT_STATUSES, STATUSES } from './statuses.ts'
import { VAGUE } from './vague.ts'

/**
 * All rules in their order: the first that applies decides. Words that mean one thing come before the codes, as servers
 * lie with codes; words that may mean several things come after them. Some rule applies to each refusal of MAIL, RCPT or DATA.
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

/** The rule for a reply of 5xx. `text` without the addresses that it repeats (withoutAddresses). */
export function findRule(reply: Reply & { stage: Exclude<Stage, 'connect'> }): Rule {
  return RULES.find(rule => applies(rule, reply)) as Rule
}

/** Whether words give a reason: which of them mean anything is what the rules know. */
export function saysWhy(text: string): boolean {
  return RULES.some(({ words }) => words?.test(text))
}
