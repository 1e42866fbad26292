import { type Bounce, describeBounce } from '#lib/delivery/bounce_details.ts'
import { classifyReply } from '#lib/delivery/refusals/classify_reply.ts'
import { parseReply, type ReplyClass } from '#lib/delivery/smtp_reply.ts'
import type { ReportedRecipient } from './report.ts'

/**
 * A refusal that a notice of failure reports, as it would have been in the session; `reply` is what the server would have
 * replied. `bounced`: the recipient is the cause, so the next message would fail as well. `failed`: any other cause.
 */
export type ReportedRefusal = {
  outcome: 'bounced' | 'failed'
  class: ReplyClass['class']
  bounce: Bounce
  reply: string
}

/** Returns class and reason for a recipient that could not be reached. The failure is final, whatever the notice says. */
export function judgeRecipient(recipient: ReportedRecipient): ReportedRefusal {
  const reply = replyOf(recipient)
  const parsed = parseReply(reply)
  const stage = SAYS_ITSELF.test(parsed.enhanced ?? '') ? 'rcpt' : 'dot'
  const reply_class = classifyReply({ ...parsed, stage })
  // A cause that is the recipient's will be the same next time, at whatever command it was found out.
  const outcome = reply_class.class === 'recipient' ? 'bounced' : 'failed'
  return {
    outcome,
    class: reply_class.class,
    bounce: describeBounce(reply, { class: reply_class.class, outcome }),
    reply,
  }
}

/** It tells of the address, the mailbox or the way to it by itself, at whatever command that was found out. */
const SAYS_ITSELF = /^[45]\.[1-5]\.[1-9]/

const REPLY = /(?<![\d.:/])([45]\d\d)(?:[ -]+(?:[#(]?([45]\.\d{1,3}\.\d{1,3})[):]?)?\s*)(.*)$/s

/** The code and status of the server that refused it, where the notice repeats them; else as its own status says. */
function replyOf({ status, diagnostic }: ReportedRecipient): string {
  const words = diagnostic.replace(/^\s*(?:smtp|x-[\w-]+)\s*;\s*/i, '').trim()
  const [, code, enhanced, text] = REPLY.exec(words) ?? []
  const own = enhanced ?? /(?<![\d.])#?([45]\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(words)?.[1] ?? null
  // What the server itself said counts for more, unless it said no more than that it failed.
  const said = own === null || own.endsWith('.0.0') ? (status ?? own) : own
  const final = said?.startsWith('4') ? 450 : 550
  return [code ?? final, said, (code ? text : words) || 'No reason was given.'].filter(part => part !== null).join(' ')
}
