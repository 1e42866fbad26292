import { parseReply } from '#lib/delivery/smtp_reply.ts'

/** A recipient that is new to the receiver is to be tried again later: that asks nobody to slow down. */
const GREYLISTING = /gr[ea]y-?\s?list/i

const WORDS =
  /rate.?limit|too many (?:connections|messages|emails|mails|requests|concurrent)|throttl|slow down|try(?:ing)? (?:us )?too (?:fast|often)|unusual rate|temporarily deferred due to|server (?:is )?(?:too )?busy|exceeded .{0,40}(?:limit|rate)/i

/** System not accepting messages, congestion, and what Gmail and Microsoft say of whom they slow down. */
const STATUSES = /^(?:3\.2|4\.5|7\.0|7\.28|7\.[56]\d\d)$/

/** Whether a reply asks us for less, whoever the mail is for (RFC 5321 3.8: 421 closes the connection). */
export function asksToSlowDown(text: string): boolean {
  const { code, enhanced, text: words } = parseReply(text)
  if (code < 400 || code > 499 || GREYLISTING.test(words)) return false
  if (code === 421) return true
  const status = enhanced?.slice(2) ?? ''
  // A mailbox that gets too much is not its provider.
  if (status.startsWith('2.')) return false
  return STATUSES.test(status) || WORDS.test(words)
}
