import type { Rule } from './rule.ts'

/**
 * Refusals because of our identity or the way we send. These words take precedence over every code, since many servers send them
 * with 5.1.1 or 5.2.1.
 */
export const AGAINST_US: Rule[] = [
  {
    class: 'policy',
    words:
      /spamhaus|spamcop|sorbs|barracudacentral|uceprotect|cloudmark|senderscore|proofpoint\.com|invaluement|hostkarma/i,
    reply: '553 5.1.3 http://www.spamhaus.org/query/bl?ip=192.0.2.222',
  },
  {
    class: 'policy',
    words: /\b(?:dns|r)bl|(?:black|block|deny)[ -]?list|(?<!not )listed (?:at|by|in|on)\b/i,
    reply: '550 5.2.1 Mailbox unavailable. Your IP address 192.0.2.1 is blacklisted using XBL.',
  },
  { class: 'policy', words: /reputation/i, reply: '554 5.5.4 Your IP 192.0.2.1 address has a bad reputation.' },
  {
    class: 'policy',
    words:
      /rate[ -]?limit|throttl|too many (?!hops|messages (?:in|on))|(?:sending|hourly|daily|message) (?:rate )?limit|number of recipients/i,
    reply: '550 5.1.1 <ann@acme.com> - 192.0.2.1 has sent to too many recipients this hour. IB607',
  },
  { class: 'policy', words: /gr[ea]y-?list/i, reply: '550 Greylisted, please try again' },
  { class: 'policy', words: /\b(?:spf|dkim|dmarc)\b/i, reply: '550 5.0.0 DMARC policy reject' },
  {
    class: 'policy',
    words: /\b(?:ptr|rdns)\b|reverse[ -]?(?:dns|host|lookup)/i,
    reply: '554 <x.acme.com[192.0.2.1]>: Client host rejected: cannot find your reverse hostname',
  },
  {
    class: 'policy',
    words: /\b(?:helo|ehlo)\b/i,
    reply: '550 Access denied - Invalid HELO name (See RFC2821 4.1.1.1)',
  },
  {
    class: 'policy',
    words:
      /(?:your|sending|sender|source|client) (?:ip|host(?:name)?|network|server|mta)\b|\byour domain\b|\b(?:dynamic|generic|residential) (?:ip|host|address)/i,
    reply: '550 5.1.1 Your host is not allowed to send to this domain',
  },
  {
    class: 'policy',
    words: /\brelay(?:ing)?\b.{0,30}(?:den(?:ied|y)|not|prohibit|disabled)|\b(?:to|not|no|open) relay|rcpthosts/i,
    reply: '550 5.1.1 <ann@acme.com>: we do not relay',
  },
  {
    class: 'policy',
    words: /authenticat/i,
    reply: '550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required; restriction check failed',
  },
  {
    class: 'policy',
    words: /(?<![?&])\bip[=:] ?\d|\binvalid ip\b|rejected by this user/i,
    reply:
      '554 IP=192.0.2.1 - A problem occurred. (Ask your postmaster for help or to contact tosa@rx.t-online.de to clarify.) (BL)',
  },
]
