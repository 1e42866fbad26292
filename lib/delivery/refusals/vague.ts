import { ATTACHMENT, CONTENT, FULL, NO_USER, POLICY, TOO_LARGE } from '#lib/delivery/refusal_words.ts'
import type { Stage } from '#lib/delivery/smtp_reply.ts'
import type { Rule } from './rule.ts'

const AFTER_RCPT: Stage[] = ['data', 'dot']

/** Ambiguous words, which count only if no code names a cause. If they do not match either, the refused command decides. */
export const VAGUE: Rule[] = [
  { class: 'policy', words: /\brelay(?!=\[)|client host/i, reply: '550 relay refused' },
  {
    class: 'recipient',
    words: NO_USER,
    reply: '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).',
  },
  { class: 'recipient', words: FULL, reply: '552 Requested mail action aborted: exceeded storage allocation' },
  { class: 'size', words: TOO_LARGE, reply: '550 The mail you sent exceeds the maximum size' },
  { class: 'size', code: /^552$/, stages: ['mail', ...AFTER_RCPT], reply: '552 Refused' },
  { class: 'content', words: CONTENT, stages: AFTER_RCPT, reply: '554 5.5.0 Content rejected' },
  { class: 'content', words: ATTACHMENT, stages: AFTER_RCPT, reply: '554 Executable attachments are not accepted' },
  { class: 'policy', words: POLICY, reply: '550 User is not allowed to receive mail from outside' },
  {
    class: 'recipient',
    words: /recipient address rejected\.?$/i,
    reply: '550 <ann@acme.com>: Recipient address rejected.',
  },
  { class: 'recipient', status: /^[12]\.0$/, reply: '550 #5.1.0 Address rejected.' },
  { class: 'sender', stages: ['mail'], reply: '550 Refused' },
  { class: 'recipient', stages: ['rcpt'], reply: '550 Refused' },
  { class: 'content', stages: AFTER_RCPT, reply: '554 Transaction failed' },
]
