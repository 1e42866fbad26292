import { type Bounce, describeBounce } from '#lib/delivery/bounce_details.ts'
import { FULL, withoutAddresses } from '#lib/delivery/refusal_words.ts'
import { classifyReply } from '#lib/delivery/refusals/classify_reply.ts'
import { saysWhy } from '#lib/delivery/refusals/rules.ts'
import { parseReply, type ReplyClass, type Stage } from '#lib/delivery/smtp_reply.ts'
import { makeStorable } from '#lib/json/unstorable_json.ts'
import type { ReportedRecipient } from './report.ts'

/**
 * A refusal that a notice of failure reports, as if it had happened in the session; `reply` is the reply that the server would
 * have sent. `bounced`: the recipient is the cause, so the next message would fail as well. `failed`: any other cause.
 */
export type ReportedRefusal = {
  outcome: 'bounced' | 'failed'
  class: ReplyClass['class']
  bounce: Bounce
  reply: string
}

/**
 * Returns class and reason for a recipient that could not be reached. The failure is final even if the notice does not say so.
 */
export function judgeRecipient(recipient: ReportedRecipient): ReportedRefusal {
  const reply = makeStorable(replyOf(recipient))
  const parsed = parseReply(reply)
  const stage = stageOf(recipient.command, parsed.enhanced ?? '')
  const reply_class = classifyReply({ ...parsed, stage })
  // If the recipient is the cause, the next message will fail too, whichever command failed.
  const outcome = reply_class.class === 'recipient' ? 'bounced' : 'failed'
  return {
    outcome,
    class: reply_class.class,
    bounce: describeBounce(reply, { class: reply_class.class, outcome }),
    reply,
  }
}

/** Returns the command that was refused. If that is unknown, vague words must not be taken for a refusal of the recipient. */
function stageOf(command: ReportedRecipient['command'], status: string): Stage {
  if (command === 'mail') return 'mail'
  return command === 'rcpt' || UNAMBIGUOUS_STATUS.test(status) ? 'rcpt' : 'dot'
}

/** Statuses about the address, the mailbox or the route, which mean the same whichever command was refused. */
const UNAMBIGUOUS_STATUS = /^[45]\.[1-5]\.[1-9]/

const REPLY = /(?<![\d.:/])([45]\d\d)(?:[ -]+(?:[#(]?([45]\.\d{1,3}\.\d{1,3})[):]?)?\s*)(.*)/s

/** Returns the code and status of the server that refused the message, if the notice repeats them; else those of the notice. */
function replyOf({ status, diagnostic }: ReportedRecipient): string {
  const words = diagnostic.replace(/^\s*(?:smtp|x-[\w-]+)\s*;\s*/i, '').trim()
  const [, code, enhanced, text] = REPLY.exec(words) ?? []
  const own = enhanced ?? /(?<![\d.])#?([45]\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(words)?.[1] ?? null
  // The server's own status takes precedence, unless it only says that it failed.
  const said = own === null || own.endsWith('.0.0') ? (status ?? own) : own
  // Gmail gives 4.0.0 for domains that do not exist: a status without a detail says less than words.
  const isVague = said?.endsWith('.0.0') && saysWhy(withoutAddresses(words)) && !FULL.test(words)
  const final = said?.startsWith('4') && !isVague ? 450 : 550
  return [code ?? final, said, (code ? text : words) || 'No reason was given.'].filter(part => part !== null).join(' ')
}
