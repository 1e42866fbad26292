import { parseReply } from '#lib/delivery/smtp_reply.ts'

/** Greylisting asks to retry later because the sender is new to the recipient. It does not ask us to slow down. */
const GREYLISTING = /gr[ea]y-?\s?list/i

const WORDS =
  /rate.?limit|too many (?:connections|messages|emails|mails|requests|concurrent)|throttl|slow down|try(?:ing)? (?:us )?too (?:fast|often)|unusual rate|temporarily deferred due to|server (?:is )?(?:too )?busy|exceeded .{0,40}(?:limit|rate)/i

/**
 * Statuses for "system not accepting messages", congestion, and those that Gmail and Microsoft use for senders they slow down.
 */
const STATUSES = /^(?:3\.2|4\.5|7\.0|7\.28|7\.[56]\d\d)$/

/** Tells whether a reply asks us to send less, for all recipients there (RFC 5321 3.8: 421 closes the connection). */
export function asksToSlowDown(text: string): boolean {
  const { code, enhanced, text: words } = parseReply(text)
  if (code < 400 || code > 499 || GREYLISTING.test(words)) return false
  if (code === 421) return true
  const status = enhanced?.slice(2) ?? ''
  // A mailbox that gets too much mail says nothing about its provider.
  if (status.startsWith('2.')) return false
  return STATUSES.test(status) || WORDS.test(words)
}
