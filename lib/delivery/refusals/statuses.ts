import type { Rule } from './rule.ts'

/** Statuses (RFC 3463 3) that name a cause, unlike X.0.0, X.1.0 and X.2.0. They apply if no rule with words before them does. */
export const STATUSES: Rule[] = [
  { class: 'recipient', status: /^7\.13$/, reply: '525 5.7.13 Refused' },
  { class: 'recipient', status: /^7\.27$/, reply: '550 5.7.27 Refused' },
  { class: 'policy', status: /^7\./, reply: '550 5.7.1 Recipient address rejected: Access denied' },
  { class: 'size', status: /^(?:3\.4|2\.3)$/, reply: '552 5.3.4 Refused' },
  { class: 'content', status: /^6\./, reply: '553 5.6.7 SMTPUTF8 is required for this address' },
]

/** These come after the words about the message, since many servers send these codes for any cause. */
export const RECIPIENT_STATUSES: Rule[] = [
  { class: 'recipient', status: /^[12]\.[1-9]/, reply: '550 5.2.1 Mailbox not accepting mail' },
  // The receiving system, the route to it or our protocol: not the recipient's fault.
  { class: 'infrastructure', status: /^[345]\.[1-9]/, stages: ['rcpt'], reply: '550 5.3.2 Refused' },
]
