/**
 * What servers write where their codes say little, as they really do: Gmail, Exchange, Yahoo, Postfix, Exim, qmail, and the
 * filters in front of them. test/lib/smtp_replies.ts is what they were read off.
 */

/** Who we are and how we send, whatever else it says of the recipient. */
export const AGAINST_US =
  /spamhaus|spamcop|barracuda|sorbs|\b(?:dns|r)bl\b|(?:black|block|deny)-?list|\b(?:spf|dkim|dmarc|ptr|rdns|helo|ehlo)\b|reverse[ -]?(?:dns|host|lookup)|gr[ea]y-?list|reputation|rate[ -]?limit|throttl|too many|your (?:ip|host|network|server|domain)|client host|sending (?:ip|mta|server)|authenticat|\brelay(?!=\[)/i

/** Rules, of whom or what they do not say. */
export const POLICY =
  /block|denied|prohibit|not (?:allowed|permitted|authori[sz]ed)|unauthori[sz]ed|polic(?:y|ies)|spam|\bbanned\b|abus|suspicious|security|restricted/i

export const SENDER =
  /sender (?:address )?(?:rejected|verif|denied|refused|blocked|not )|(?:sender|sending|from)(?:'s)? (?:address|domain)\b.{0,60}(?:not (?:found|exist|resolve)|doesn'?t (?:exist|resolve)|invalid|unresolvable|rejected|has null mx)|(?:invalid|unknown|bad) sender|domain of sender|invalid dns mx or a/i

export const NO_USER =
  /(?:unknown|no such|invalid|non-?existent|not a valid) (?:local )?(?:user|recipient|mailbox|address|account|domain|person)|\b(?:user|recipient|mailbox|address|account|addressee|box)\b.{0,80}?\b(?:unknown|not (?:found|exist|known|valid|listed|available)|doesn'?t (?:exist|have)|unavailable|disabled|deactivated|inactive|invalid|no longer|suspended|terminated|closed|expired)|no mailbox (?:here|by that name)|unknown host or domain|\bdomain\b.{0,40}(?:not (?:exist|found)|doesn'?t exist)|unrouteable|RecipientNotFound|RecipNotFound/i

export const FULL =
  /(?:mail)?box\b.{0,40}\b(?:full|quota|exceeds allowed size)|(?:over|out of) ?(?:quota|storage)|quota\b.{0,30}(?:exceed|full|reached)|exceed.{0,40}(?:quota|storage)|storage allocation|not enough (?:storage|space)|insufficient (?:mailbox|disk|storage)/i

export const TOO_LARGE =
  /(?:message|mail|size)\b.{0,40}(?:too (?:large|big)|exceed)|(?:exceed|larger than|over)\w*\b.{0,40}(?:message size|size limit|maximum size|fixed limit)/i

export const ATTACHMENT = /attachment|attached|file ?(?:type|extension|name)|executable|\.(?:exe|zip|js)\b/i

export const CONTENT = /\bspam\b|\buce\b|virus|malware|phish|content|unsolicited|infected/i

/** A reply without the addresses it repeats: whoever is called spam@ or nobody@ is not to be judged by it. */
export function withoutAddresses(text: string): string {
  return text.replace(/[^\s<>]+@[^\s<>]+/g, '')
}
