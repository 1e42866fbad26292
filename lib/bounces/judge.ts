import { type Bounce, describeBounce } from '../bounce.ts'
import { classifyReply, parseReply, type Verdict } from '../smtp_reply.ts'
import type { ReportedRecipient } from './report.ts'

/** What a notice of failure means: `reply` as a server would have said it to us. */
export type ReportVerdict = { class: Verdict['class']; bounce: Bounce; reply: string }

/**
 * Reads class and reason off a recipient that could not be reached. It has failed for good, whatever it says; a class of
 * `recipient` alone means that the next message would as well.
 */
export function judgeRecipient(recipient: ReportedRecipient): ReportVerdict {
  const reply = replyOf(recipient)
  const parsed = parseReply(reply)
  const stage = SAYS_ITSELF.test(parsed.enhanced ?? '') ? 'rcpt' : 'dot'
  const verdict = classifyReply({ ...parsed, stage })
  // At whatever command it was found out: what is the recipient's will be so next time.
  const isRefused = verdict.class === 'recipient'
  const bounce = describeBounce(reply, { class: verdict.class, outcome: isRefused ? 'bounced' : 'failed' })
  return { class: verdict.class, bounce, reply }
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
