import type { Stage } from '#lib/delivery/smtp_reply.ts'
import type { Rule } from './rule.ts'

const AFTER_RCPT: Stage[] = ['data', 'dot']

/** Refusals because of the message, in words that count even with a code about the recipient (5.1.1, 5.2.0). */
export const MESSAGES: Rule[] = [
  {
    class: 'size',
    words: /\bmessage (?:size )?(?:is )?(?:too (?:large|big)|exceeds|larger)/i,
    reply: '550 5.2.1 Message size exceeds fixed limit',
  },
  { class: 'content', words: /message (?:was )?filtered/i, stages: AFTER_RCPT, reply: '550 5.2.0 Message Filtered' },
  {
    class: 'policy',
    words: /message (?:was )?filtered|\bofr_50\d/i,
    reply: '550 5.2.0 Mail rejete. Mail rejected. OFR_506 [506]',
  },
  {
    class: 'content',
    words: /\bspam\b|\buce\b|unsolicited|virus|malware|phish|infected/i,
    stages: AFTER_RCPT,
    reply: '554 5.2.0 rejected: message contains a virus (Eicar-Test-Signature)',
  },
  {
    class: 'policy',
    words: /\bspam\b|\buce\b|unsolicited|virus|malware|phish|infected/i,
    reply: '550 5.2.1 Rejected: you are sending spam',
  },
  {
    // A link to a page about our IP address. Some servers send one whatever the cause, so words about the recipient come first.
    class: 'policy',
    words: /[?&]ip=\d/i,
    reply: '550 5.1.1 Refused, see https://postmaster.acme.com/reasons?ip=192.0.2.1',
  },
]
