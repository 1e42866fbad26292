import { withoutAddresses } from '#lib/delivery/refusal_words.ts'
import type { Reply, ReplyClass, Stage } from '#lib/delivery/smtp_reply.ts'
import { findRule } from './rules.ts'

// RFC 4954 6, RFC 3207 4: the server demands authentication or TLS, at any command. RFC 5321 4.2.2: a command was not understood,
// or came at the wrong time.
const OUR_FAULTS = [530, 534, 535, 538, 500, 502, 503, 504]

/** Returns what a refusal at a stage means for the delivery. The code tells whether it is final, the table of rules tells why. */
export function classifyReply(given: Reply & { stage: Stage }): ReplyClass {
  const reply = { ...given, text: withoutAddresses(given.text) }
  const { code, stage } = reply
  if (code >= 400 && code < 500) return { outcome: 'deferred', class: 'transient' }
  const permanent = code >= 500 && code < 600
  if (!permanent || stage === 'connect' || OUR_FAULTS.includes(code)) {
    return { outcome: 'deferred', class: 'infrastructure' }
  }
  const { class: cause } = findRule({ ...reply, stage })
  // At MAIL no recipient has been named yet, so none can be at fault.
  if (cause === 'recipient' && stage === 'mail') return { outcome: 'failed', class: 'sender' }
  const isRefused = cause === 'recipient' && (stage === 'rcpt' || /^.\.(?:1\.|2\.[01]$)/.test(reply.enhanced ?? ''))
  return { outcome: isRefused ? 'bounced' : 'failed', class: cause }
}
