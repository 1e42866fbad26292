import type { Stage } from '../../lib/smtp_reply.ts'

type Row = [stage: Stage, reply: string, verdict: string, bounce: string]

const GONE = 'bounced recipient'
const POLICY = 'failed policy'
const LATER = 'deferred transient'
const OURS = 'deferred infrastructure'
const NO_EMAIL = 'Permanent NoEmail'
const SOFT = 'Transient General'
const CONTENT = 'Transient ContentRejected'

/**
 * Replies as servers write them, what they mean, and what is told of them. `bounced` suppresses the recipient, nothing else
 * does.
 */
export const realReplies: Row[] = [
  // Nobody of that name.
  [
    'rcpt',
    "550-5.1.1 The email account that you tried to reach does not exist. Please try\r\n550-5.1.1 double-checking the recipient's email address for typos or\r\n550-5.1.1 unnecessary spaces. For more information, go to\r\n550 5.1.1  https://support.google.com/mail/?p=NoSuchUser a1-20020a - gsmtp",
    GONE,
    NO_EMAIL,
  ],
  [
    'rcpt',
    '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient ann@contoso.com not found by SMTP address lookup',
    GONE,
    NO_EMAIL,
  ],
  [
    'rcpt',
    '550 5.4.1 Recipient address rejected: Access denied. [AM5EUR02FT012.eop-EUR02.prod.protection.outlook.com]',
    GONE,
    NO_EMAIL,
  ],
  ['rcpt', '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).', GONE, NO_EMAIL],
  [
    'rcpt',
    '550 5.1.1 <ann@acme.com>: Recipient address rejected: User unknown in virtual mailbox table',
    GONE,
    NO_EMAIL,
  ],
  ['rcpt', '550 <ann@acme.com>: Recipient address rejected: User unknown in local recipient table', GONE, NO_EMAIL],
  ['rcpt', '550 5.1.0 <ann@acme.com>: Recipient address rejected: undeliverable address', GONE, 'Permanent General'],
  ['rcpt', '550 No Such User Here"', GONE, NO_EMAIL],
  ['rcpt', '550 Unrouteable address', GONE, NO_EMAIL],
  ['rcpt', '550 unknown user', GONE, NO_EMAIL],
  ['rcpt', '553 sorry, no mailbox here by that name (#5.1.1)', GONE, NO_EMAIL],
  ['rcpt', '550 sorry, no mailbox here by that name. (#5.7.17)', POLICY, SOFT],
  ['rcpt', '511 sorry, no mailbox here by that name (#5.1.1 - chkuser)', GONE, NO_EMAIL],
  ['rcpt', '550 5.1.1 User Unknown', GONE, NO_EMAIL],
  ['rcpt', '550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550 [x]', GONE, NO_EMAIL],
  ['rcpt', '550 5.1.1 RCP-P1 https://postmaster.gmx.net/en/error-messages#rcp-p1', GONE, NO_EMAIL],
  ['rcpt', '550 Requested action not taken: mailbox unavailable', GONE, NO_EMAIL],
  ['rcpt', "550 5.1.1 <ann@acme.com>... User unknown: the addressee isn't known here", GONE, NO_EMAIL],
  ['rcpt', '552 1 Requested mail action aborted, mailbox not found', GONE, NO_EMAIL],
  ['rcpt', '554 5.1.1 <ann@acme.com>: recipient invalid', GONE, NO_EMAIL],
  ['rcpt', '550 #5.1.0 Address rejected.', GONE, 'Permanent General'],
  ['rcpt', '550 5.1.2 Domain not found', GONE, NO_EMAIL],
  ['rcpt', '553 5.1.3 <ann@acme>: not a valid address', GONE, NO_EMAIL],
  ['rcpt', '551 5.1.6 User has moved with no forwarding address', GONE, NO_EMAIL],
  ['rcpt', '556 5.1.10 Domain acme.com does not accept mail (nullMX)', GONE, NO_EMAIL],
  ['rcpt', '550 5.4.4 Invalid domain name, domain does not exist', GONE, NO_EMAIL],
  ['rcpt', '554 qq Sorry, no valid recipients', GONE, 'Permanent General'],
  ['dot', '550 5.1.1 <ann@acme.com> User unknown; rejecting', GONE, NO_EMAIL],
  // At the end of the message: they do not say by a code that it is the recipient.
  [
    'dot',
    "554 delivery error: dd This user doesn't have a yahoo.com account (ann@yahoo.com) [0] - mta1234.mail.bf1.yahoo.com",
    'failed recipient',
    'Transient NoEmail',
  ],
  [
    'dot',
    '554 delivery error: dd Sorry your message to ann@yahoo.com cannot be delivered. This mailbox is disabled (554.30).',
    'failed recipient',
    'Transient NoEmail',
  ],
  // Switched off, and full.
  [
    'rcpt',
    '550 5.2.1 The email account that you tried to reach is disabled. Learn more at https://support.google.com/mail/?p=DisabledUser x - gsmtp',
    GONE,
    NO_EMAIL,
  ],
  ['rcpt', '550 5.2.1 Mailbox not accepting mail', GONE, 'Permanent General'],
  ['rcpt', '550 Mailbox ann@acme.com is suspended', GONE, NO_EMAIL],
  [
    'rcpt',
    '552-5.2.2 The email account that you tried to reach is over quota and inactive.\r\n552 5.2.2 https://support.google.com/mail/?p=OverQuotaPerm x - gsmtp',
    GONE,
    'Permanent MailboxFull',
  ],
  ['rcpt', '552 5.2.2 <ann@acme.com>: Recipient address rejected: Mailbox is full', GONE, 'Permanent MailboxFull'],
  ['rcpt', '552 Mailbox size limit exceeded: mailbox full', GONE, 'Permanent MailboxFull'],
  ['rcpt', '554 5.2.2 mailbox full', GONE, 'Permanent MailboxFull'],
  [
    'dot',
    '554 5.2.2 STOREDRV.Deliver; recipient quota exceeded exception',
    'failed recipient',
    'Transient MailboxFull',
  ],
  [
    'dot',
    '552 Requested mail action aborted: exceeded storage allocation',
    'failed recipient',
    'Transient MailboxFull',
  ],
  [
    'rcpt',
    '452-4.2.2 The email account that you tried to reach is over quota. Please direct\r\n452 4.2.2 the recipient to https://support.google.com/mail/?p=OverQuotaTemp x - gsmtp',
    LATER,
    'Transient MailboxFull',
  ],
  ['rcpt', '452 4.2.2 Mailbox full', LATER, 'Transient MailboxFull'],
  ['rcpt', '452 Mailbox over quota', LATER, 'Transient MailboxFull'],
  ['rcpt', '452 4.3.1 Insufficient system storage', LATER, SOFT],
  // Against us.
  [
    'rcpt',
    '550 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org; https://www.spamhaus.org/query/ip/192.0.2.1',
    POLICY,
    SOFT,
  ],
  [
    'rcpt',
    '554 Service unavailable; Client host [192.0.2.1] blocked using bl.spamcop.net; Blocked - see https://www.spamcop.net/bl.shtml',
    POLICY,
    SOFT,
  ],
  ['rcpt', '550 192.0.2.1 is blacklisted at b.barracudacentral.org', POLICY, SOFT],
  ['rcpt', '554 Blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.1', POLICY, SOFT],
  ['rcpt', '550 Rejected by header based manually Blocked Senders - https://community.mimecast.com', POLICY, SOFT],
  ['rcpt', '550 Administrative prohibition - envelope blocked - https://community.mimecast.com', POLICY, SOFT],
  ['rcpt', '554 Email rejected due to security policies - MCSpamSignature.x.3', POLICY, SOFT],
  [
    'rcpt',
    '550 5.7.606 Access denied, banned sending IP [192.0.2.1]. To request removal from this list please visit https://sender.office.com/',
    POLICY,
    SOFT,
  ],
  [
    'mail',
    '550 5.7.1 Unfortunately, messages from [192.0.2.1] weren’t sent. Please contact your Internet service provider since part of their network is on our block list (S3150).',
    POLICY,
    SOFT,
  ],
  [
    'rcpt',
    '550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required; Delivery restriction check failed',
    POLICY,
    SOFT,
  ],
  ['rcpt', '550 5.7.1 Unable to relay', POLICY, SOFT],
  ['rcpt', '554 5.7.1 <ann@acme.com>: Relay access denied', POLICY, SOFT],
  ['rcpt', '550 relay not permitted', POLICY, SOFT],
  ['rcpt', '553 sorry, that domain isn’t in my list of allowed rcpthosts (#5.7.1)', POLICY, SOFT],
  ['rcpt', '550 Poor reputation of sending host', POLICY, SOFT],
  ['rcpt', '550 Your IP has a poor reputation', POLICY, SOFT],
  ['rcpt', '550 SPF check failed', POLICY, SOFT],
  ['rcpt', '550 5.0.0 DMARC policy reject', POLICY, SOFT],
  ['rcpt', '550 rate limit exceeded', POLICY, SOFT],
  ['rcpt', '550 Greylisted, please try again', POLICY, SOFT],
  ['rcpt', '550 Too many invalid recipients', POLICY, SOFT],
  ['rcpt', '554 5.7.1 <x.acme.com[192.0.2.1]>: Client host rejected: cannot find your reverse hostname', POLICY, SOFT],
  ['rcpt', '550 Access denied - Invalid HELO name (See RFC2821 4.1.1.1)', POLICY, SOFT],
  ['rcpt', '550 Blocked', POLICY, SOFT],
  ['rcpt', '550 Message refused: spam', POLICY, CONTENT],
  [
    'dot',
    '550-5.7.26 This mail has been blocked because the sender is unauthenticated.\r\n550 5.7.26 Gmail requires all senders to authenticate with either SPF or DKIM. x - gsmtp',
    POLICY,
    SOFT,
  ],
  [
    'dot',
    '550-5.7.1 [192.0.2.1] Our system has detected that this message is likely unsolicited mail.\r\n550 5.7.1 To reduce the amount of spam sent to Gmail, this message has been blocked. x - gsmtp',
    POLICY,
    CONTENT,
  ],
  ['dot', '554 5.7.1 Message scored too high for spam', POLICY, CONTENT],
  [
    'dot',
    '554 5.7.9 Message not accepted for policy reasons. See https://postmaster.yahooinc.com/error-codes',
    POLICY,
    SOFT,
  ],
  ['dot', '554 Message not allowed - [PH01] Email not accepted for policy reasons.', POLICY, SOFT],
  [
    'dot',
    '550 5.7.515 Access denied, sending domain acme.com does not meet the required authentication level.',
    POLICY,
    SOFT,
  ],
  ['rcpt', '550 User is not allowed to receive mail from outside', POLICY, SOFT],
  // Of what is in it, and how much.
  [
    'dot',
    '552-5.7.0 This message was blocked because its content presents a potential\r\n552-5.7.0 security issue. To review our message content and attachment content\r\n552 5.7.0 guidelines, go to https://support.google.com/mail/?p=BlockedMessage x - gsmtp',
    POLICY,
    'Transient AttachmentRejected',
  ],
  ['dot', '550 5.7.0 Attachment type not allowed: .exe', POLICY, 'Transient AttachmentRejected'],
  ['dot', '554 Executable attachments are not accepted', 'failed content', 'Transient AttachmentRejected'],
  ['dot', '554 rejected: message contains a virus (Eicar-Test-Signature)', 'failed content', CONTENT],
  ['dot', '550 This message was classified as SPAM and may not be delivered', 'failed content', CONTENT],
  ['dot', '554 5.6.0 Reject, id=1-01 - BAD_HEADER', 'failed content', CONTENT],
  ['rcpt', '553 5.6.7 SMTPUTF8 is required for this address', 'failed content', CONTENT],
  ['dot', '554 Transaction failed', 'failed content', 'Undetermined Undetermined'],
  ['dot', '554 delivery error', 'failed content', 'Undetermined Undetermined'],
  ['mail', '552 5.3.4 Message size exceeds fixed maximum message size', 'failed size', 'Transient MessageTooLarge'],
  [
    'dot',
    "552-5.3.4 Your message exceeded Google's message size limits. x - gsmtp",
    'failed size',
    'Transient MessageTooLarge',
  ],
  ['dot', '552 Message size exceeds maximum permitted', 'failed size', 'Transient MessageTooLarge'],
  ['rcpt', '552 Message too large for this recipient', 'failed size', 'Transient MessageTooLarge'],
  [
    'dot',
    '550 5.2.3 RESOLVER.RST.RecipSizeLimit; message too large for this recipient',
    'failed size',
    'Transient MessageTooLarge',
  ],
  // The sender.
  ['rcpt', '550 Sender verify failed', 'failed sender', SOFT],
  ['rcpt', '550 5.1.8 <me@acme.com>: Sender address rejected: Domain not found', 'failed sender', SOFT],
  [
    'rcpt',
    '550 5.1.0 <me@acme.com>: Sender address rejected: User unknown in local recipient table',
    'failed sender',
    SOFT,
  ],
  ['mail', '553 5.1.8 Domain of sender address me@acme.com does not exist', 'failed sender', SOFT],
  ['mail', '550 5.1.7 Invalid address', 'failed sender', SOFT],
  // Their system, and ours.
  ['rcpt', '554 5.3.2 System not accepting network messages', 'failed infrastructure', SOFT],
  ['rcpt', '554 5.4.14 Hop count exceeded - possible mail loop', 'failed infrastructure', SOFT],
  ['rcpt', '503 5.5.1 Error: need MAIL command', OURS, SOFT],
  ['rcpt', '504 5.5.2 <host>: Helo command rejected: need fully-qualified hostname', OURS, SOFT],
  [
    'connect',
    '554-mx.acme.com 554 Your access to this mail system has been rejected due to poor reputation',
    OURS,
    SOFT,
  ],
  ['mail', '530 5.7.0 Must issue a STARTTLS command first', OURS, SOFT],
  // For now.
  ['rcpt', '450 4.2.0 <ann@acme.com>: Recipient address rejected: Greylisted', LATER, SOFT],
  ['rcpt', '451 4.7.1 Greylisting in action, please come back in 00:05:00', LATER, SOFT],
  ['rcpt', '451 4.7.500 Server busy. Please try again later from [192.0.2.1]. (S77714)', LATER, SOFT],
  ['connect', '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume', LATER, SOFT],
  ['dot', '421-4.7.28 Gmail has detected an unusual rate of unsolicited mail. x - gsmtp', LATER, SOFT],
  ['rcpt', '450 4.1.1 <ann@acme.com>: Recipient address rejected: unverified address', LATER, SOFT],
  ['mail', '452 4.3.4 Message size exceeds what is free', LATER, 'Transient MessageTooLarge'],
]

/** What a reply that defers says of when to come back, in seconds; null when it does not. */
export const namedDelays: [text: string, seconds: number | null][] = [
  ['450 4.2.0 Greylisted, please try again in 300 seconds', 300],
  ['451 4.7.1 try again in 5 minutes', 300],
  ['451 4.7.1 Greylisting in action, please come back in 00:05:00', 300],
  ['450 4.2.0 <a@b.co>: Recipient address rejected: Greylisted for 120 seconds', 120],
  ['450 greylisted: retry after 90', 90],
  ['450 Please retry in 1 hour', 3600],
  ['451 You have been greylisted, wait 10 min.', 600],
  ['450 try again in 1 second', 30],
  ['450 try again in 0 s', 30],
  ['450 try again in 30 days', null],
  ['450 try again in 48 hours', 3600],
  ['450 try again in 999999999999 seconds', null],
  ['451 4.7.1 Greylisted, try again later', null],
  ['450 4.2.0 Greylisted, see http://postgrey.schweikert.ch/help/acme.com.html', null],
  ['451 Try again later from [192.0.2.1]', null],
  ['421 4.7.0 Try again later, closing connection. 1-20a.12', null],
]
