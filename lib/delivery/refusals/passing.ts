import type { Rule } from './rule.ts'

/** Temporary causes, or causes between the servers: the same recipient may get the next message. */
export const PASSING: Rule[] = [
  {
    class: 'transient',
    words: /receiving (?:e?mail|messages) (?:at a rate|too quickly)|rate that prevents/i,
    reply:
      '550-5.2.1 The user you are trying to contact is receiving mail at a rate that\r\n550-5.2.1 prevents additional messages from being delivered. For more information, please visit\r\n550 5.2.1 https://support.google.com/mail/?p=ReceivingRatePerm x - gsmtp',
  },
  {
    class: 'transient',
    words: /queue too long/i,
    reply: "501 Invalid domain name I'm not going to try again; this message has been in the queue too long.",
  },
  {
    class: 'transient',
    words: /(?:not found|failed|failure|error)[,;:]? (?:please )?try again|temporary (?:dns|lookup|name)/i,
    reply: '550 Name service error for domain acme.com: Host not found, try again',
  },
  {
    class: 'transient',
    words: /\btemporar(?:y|ily) (?:locked|disabled|suspended|unavailable|blocked|inactive|failure|problem|error)/i,
    reply: '550 5.1.1 <ann@acme.com>: Recipient address rejected: User temporarily locked. Please try again later!',
  },
  {
    class: 'infrastructure',
    words: /too many hops|hop count|mail (?:forwarding )?loop|loops? back|routing loop/i,
    reply: '554 5.4.6 Too many hops 26 (25 max)',
  },
  {
    class: 'infrastructure',
    words:
      /(?:couldn'?t|could not|cannot|can'?t|unable to) (?:create|open|write|exec|append|lock)\b|command (?:died|failed)/i,
    reply: '550 5.1.1 procmail: Couldn\'t create "/var/spool/mail/ann"',
  },
]

/** Refusals of our sender address. These come before the recipient, since both are refused in the same words. */
export const SENDERS: Rule[] = [
  { class: 'sender', status: /^1\.[78]$/, reply: '550 5.1.7 No such domain acme.com' },
  {
    class: 'sender',
    words: /sender (?:address |id )?(?:rejected|verif|denied|refused|blocked|not )|(?:invalid|unknown|bad) sender/i,
    reply: '550 5.1.0 <hello@acme.com>: Sender address rejected: User unknown in virtual mailbox table',
  },
  {
    class: 'sender',
    words:
      /(?:sender|sending|from)(?:'s)?:? (?:address|domain)\b.{0,60}(?:not (?:found|exist|resolve|accept)|doesn'?t (?:exist|resolve|accept)|invalid|unresolvable|rejected|null mx)/i,
    reply: '550 5.2.0 <hello@acme.com> From: Domain is invalid. Please provide a valid From: IB506',
  },
  {
    // Many servers check the sender only at RCPT.
    class: 'sender',
    words:
      /\benvelope[ -]?sender\b|\b(?:return|reverse)[ -]?path\b|\bmail from domain\b|\b(?:for|of) (?:the )?sender(?:'s)? domain|\bcall-?out\b|\bnull sender|\bbounces (?:are )?not\b|\bverify (?:the )?sender\b|\(sender\)/i,
    reply: '550 Invalid envelope sender',
  },
  {
    class: 'sender',
    words: /domain of sender|unroutable sender|invalid dns mx or a/i,
    reply: '550 Requested action not taken: mailbox unavailable invalid DNS MX or A/AAAA resource record',
  },
]

/** The message expired or the receiving system failed, without a word about the recipient. */
export const EXPIRED: Rule[] = [
  {
    class: 'infrastructure',
    words:
      /(?:internal (?:\w+ )?|system |server |mailer |configuration |protocol |unexpected )(?:error|problem)|error in processing|misconfigur/i,
    reply: '554 5.3.0 <ann@acme.com>: Recipient address rejected: Internal system error.',
  },
  {
    class: 'transient',
    words:
      /(?:message|envelope|delivery|time) (?:has )?expired|retry time(?:out)? (?:exceeded|not reached)|(?:system|server) (?:is )?(?:too )?busy|^(?:please )?try (?:again )?later/i,
    reply: '550 retry time not reached for any host after a long failure period',
  },
  {
    class: 'transient',
    words:
      /(?:connect\w*|operation|session|conversation|server|host)\b.{0,60}\btimed? ?out|connection (?:refused|reset|lost|dropped)|(?:no route to|unable to contact) host|network (?:is )?unreachable/i,
    reply: '550 connect to mx.acme.com[192.0.2.1]:25: Connection timed out',
  },
  {
    class: 'transient',
    words:
      /after multiple (?:retries|attempts)|delivery failed \d+ attempts|hosts? have been failing|not accept our requests to connect|host not reachable|\bfor the last \d+ seconds|(?:exceeded|maximum) (?:maximum )?delivery attempts/i,
    reply: '550 Could not deliver for the last 432000 seconds. Giving up.',
  },
]
