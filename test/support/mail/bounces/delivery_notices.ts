/** A notice with its correct interpretation: the recipient, the class and the bounce type. */
export type Notice = {
  name: string
  raw: string
  recipient: string
  class: string
  sub_type: string
}

type Reason = [reply: string, cause: string, sub_type: string]

/** Replies as large receivers and common servers word them. */
const REASONS: Reason[] = [
  [
    '550 5.1.1 The email account that you tried to reach does not exist. https://support.google.com/mail/?p=NoSuchUser 4fb4d7f45d1cf-5d1 - gsmtp',
    'recipient',
    'NoEmail',
  ],
  ['550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup', 'recipient', 'NoEmail'],
  [
    "554 delivery error: dd This user doesn't have a yahoo.com account (x@yahoo.com) [0] - mta1234.mail.bf1.yahoo.com",
    'recipient',
    'NoEmail',
  ],
  [
    '550 5.1.1 <x@acme.example>: Recipient address rejected: User unknown in virtual mailbox table',
    'recipient',
    'NoEmail',
  ],
  [
    '550 5.2.1 The email account that you tried to reach is disabled. Learn more at https://support.google.com/mail/?p=DisabledUser',
    'recipient',
    'NoEmail',
  ],
  [
    '552 5.2.2 The email account that you tried to reach is over quota. Please direct the recipient to https://support.google.com/mail/?p=OverQuotaPerm',
    'recipient',
    'MailboxFull',
  ],
  ['552 5.2.2 <x@acme.example>: Quota exceeded (mailbox for user is full)', 'recipient', 'MailboxFull'],
  ['550 5.7.1 Service unavailable; client host [203.0.113.7] blocked using zen.spamhaus.org', 'policy', 'General'],
  [
    '550 5.7.26 This mail has been blocked because the sender is unauthenticated. Gmail requires all senders to authenticate with either SPF or DKIM.',
    'policy',
    'General',
  ],
  ['554 5.7.1 Message rejected under suspicion of SPAM; https://ya.cc/1IrBc', 'policy', 'ContentRejected'],
  [
    '552 5.7.0 This message was blocked because its content presents a potential security issue.',
    'policy',
    'ContentRejected',
  ],
  ['552 5.3.4 Message size exceeds fixed limit', 'size', 'MessageTooLarge'],
  ["552-5.2.3 Your message exceeded Google's message size limits.", 'size', 'MessageTooLarge'],
  ['554 5.6.0 Message contains invalid header', 'content', 'ContentRejected'],
  ['550 5.1.8 Sender address rejected: Domain not found', 'sender', 'General'],
  ['450 4.4.1 Connection timed out', 'transient', 'General'],
  ['452 4.2.2 Mailbox full, try again later', 'transient', 'MailboxFull'],
  ['550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).', 'recipient', 'NoEmail'],
]

const RETURNED =
  'Return-Path: <b-token@send.acme.com>\r\nReceived: from mailbrook.test by mx\r\nFrom: hello@acme.com\r\nTo: somebody.else@other.example\r\nSubject: Hello\r\nMessage-ID: <01a1fe06-bc30-74e2-b59b-779a16313e3d@acme.com>\r\n\r\nHello'

type Format = [name: string, write: (recipient: string, reply: string, status: string) => string]

const head = (from: string, subject: string, type: string, more = '') =>
  `From: ${from}\r\nTo: <b-token@send.acme.com>\r\nSubject: ${subject}\r\nDate: Sat, 21 Nov 2026 10:00:00 +0000\r\nMessage-ID: <n1@mx.example>\r\nMIME-Version: 1.0\r\n${more}Content-Type: ${type}\r\n\r\n`

/** A multipart/report with these parts. */
function report(
  from: string,
  subject: string,
  text: string,
  status: string,
  more = '',
  type = 'message/delivery-status',
): string {
  return `${head(from, subject, 'multipart/report; report-type=delivery-status;\r\n boundary="=_b1"', more)}This is a MIME-encapsulated message.\r\n\r\n--=_b1\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n${text}\r\n\r\n--=_b1\r\nContent-Type: ${type}\r\n\r\n${status}\r\n\r\n--=_b1\r\nContent-Type: message/rfc822\r\n\r\n${RETURNED}\r\n\r\n--=_b1--\r\n`
}

const clean: Format[] = [
  [
    'Postfix',
    (to, reply, status) =>
      report(
        'MAILER-DAEMON@mx.example (Mail Delivery System)',
        'Undelivered Mail Returned to Sender',
        `This is the mail system at host mx.example.\r\n\r\nI'm sorry to have to inform you that your message could not\r\nbe delivered to one or more recipients. It's attached below.\r\n\r\n<${to}>: host mx.other.example[192.0.2.1] said: ${reply} (in reply to\r\n    RCPT TO command)`,
        `Reporting-MTA: dns; mx.example\r\nX-Postfix-Queue-ID: 4F1A2\r\nX-Postfix-Sender: rfc822; b-token@send.acme.com\r\nArrival-Date: Sat, 21 Nov 2026 09:59:58 +0000\r\n\r\nFinal-Recipient: rfc822; ${to}\r\nOriginal-Recipient: rfc822;${to}\r\nAction: failed\r\nStatus: ${status}\r\nRemote-MTA: dns; mx.other.example\r\nDiagnostic-Code: smtp; ${reply}`,
        'Auto-Submitted: auto-replied\r\n',
      ),
  ],
  [
    'Exim',
    (to, reply, status) =>
      report(
        'Mail Delivery System <Mailer-Daemon@mx.example>',
        'Mail delivery failed: returning message to sender',
        `This message was created automatically by mail delivery software.\r\n\r\nA message that you sent could not be delivered to one or more of its\r\nrecipients. This is a permanent error. The following address(es) failed:\r\n\r\n  ${to}\r\n    host mx.other.example [192.0.2.1]\r\n    SMTP error from remote mail server after RCPT TO:<${to}>:\r\n    ${reply}`,
        `Reporting-MTA: dns; mx.example\r\n\r\nAction: failed\r\nFinal-Recipient: rfc822;${to}\r\nStatus: ${status[0]}.0.0\r\nRemote-MTA: dns; mx.other.example\r\nDiagnostic-Code: smtp; ${reply}`,
        `X-Failed-Recipients: ${to}\r\nAuto-Submitted: auto-replied\r\n`,
      ),
  ],
  [
    'sendmail',
    (to, reply, status) =>
      report(
        'Mail Delivery Subsystem <MAILER-DAEMON@mx.example>',
        'Returned mail: see transcript for details',
        `The original message was received at Sat, 21 Nov 2026 09:59:58 GMT\r\nfrom mailbrook.test [203.0.113.7]\r\n\r\n   ----- The following addresses had permanent fatal errors -----\r\n<${to}>\r\n    (reason: ${reply})\r\n\r\n   ----- Transcript of session follows -----\r\n... while talking to mx.other.example.:\r\n>>> DATA\r\n<<< ${reply}`,
        `Reporting-MTA: dns; mx.example\r\nReceived-From-MTA: DNS; mailbrook.test\r\nArrival-Date: Sat, 21 Nov 2026 09:59:58 GMT\r\n\r\nFinal-Recipient: RFC822; ${to}\r\nAction: failed\r\nStatus: ${status}\r\nRemote-MTA: DNS; mx.other.example\r\nDiagnostic-Code: SMTP; ${reply}\r\nLast-Attempt-Date: Sat, 21 Nov 2026 10:00:00 GMT`,
        'Auto-Submitted: auto-generated (failure)\r\n',
      ),
  ],
  [
    'Gmail',
    (to, reply, status) =>
      report(
        'Mail Delivery Subsystem <mailer-daemon@googlemail.com>',
        'Delivery Status Notification (Failure)',
        `** Address not found **\r\n\r\nYour message wasn't delivered to ${to}. Learn more here: https://support.google.com/mail/?p=NoSuchUser\r\n\r\nThe response was:\r\n\r\n${reply}`,
        `Reporting-MTA: dns; googlemail.com\r\nArrival-Date: Sat, 21 Nov 2026 01:59:58 -0800 (PST)\r\nX-Original-Message-ID: <01a1fe06@acme.com>\r\n\r\nFinal-Recipient: rfc822; ${to}\r\nAction: failed\r\nStatus: ${status}\r\nRemote-MTA: dns; gmail-smtp-in.l.google.com. (142.250.1.27, the server for\r\n the domain gmail.com.)\r\nDiagnostic-Code: smtp; ${reply.replace(/(.{60}\S*) /g, '$1\r\n ')}\r\nLast-Attempt-Date: Sat, 21 Nov 2026 01:59:59 -0800 (PST)`,
        'Auto-Submitted: auto-replied\r\n',
      ),
  ],
  [
    'Exchange Online',
    (to, reply, status) =>
      report(
        'Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@contoso.onmicrosoft.example>',
        'Undeliverable: Hello',
        `Your message to ${to} couldn't be delivered.`,
        `Reporting-MTA: dns;AM6PR01MB1234.eurprd01.prod.exchangelabs.com\r\nReceived-From-MTA: dns;mailbrook.test\r\nArrival-Date: Sat, 21 Nov 2026 09:59:58 +0000\r\n\r\nFinal-Recipient: rfc822;${to}\r\nAction: failed\r\nStatus: ${status}\r\nDiagnostic-Code: smtp;${reply}\r\nX-Display-Name: Somebody`,
        'Auto-Submitted: auto-replied\r\nX-MS-Exchange-Message-Is-Ndr:\r\n',
      ),
  ],
  [
    'Exchange on premises',
    (to, reply, status) =>
      report(
        'postmaster@corp.example',
        'Undeliverable: Hello',
        `Delivery has failed to these recipients or groups:\r\n\r\n${to}<mailto:${to}>\r\nThe email address you entered couldn't be found.\r\n\r\nDiagnostic information for administrators:\r\nGenerating server: EX01.corp.example\r\n${to}\r\nRemote Server returned '${reply}'`,
        `Reporting-MTA: dns;EX01.corp.example\r\nArrival-Date: Sat, 21 Nov 2026 09:59:58 +0000\r\n\r\nFinal-Recipient: rfc822;${to}\r\nAction: failed\r\nStatus: ${status}\r\nDiagnostic-Code: smtp;${reply}\r\nX-Display-Name: ${to}`,
      ),
  ],
  [
    'Amazon SES',
    (to, reply, status) =>
      report(
        'MAILER-DAEMON@eu-west-1.amazonses.com',
        'Delivery Status Notification (Failure)',
        `An error occurred while trying to deliver the mail to the following recipients:\r\n${to}`,
        `Reporting-MTA: dns; a7-22.smtp-out.eu-west-1.amazonses.com\r\n\r\nAction: failed\r\nFinal-Recipient: rfc822; ${to}\r\nDiagnostic-Code: smtp; ${reply}\r\nStatus: ${status}`,
      ),
  ],
  [
    'PowerMTA',
    (to, reply, status) =>
      report(
        '"Mail Delivery Subsystem" <MAILER-DAEMON@pmta.example>',
        'Delivery report',
        `Hello, this is the mail server on pmta.example.\r\n\r\nI am sending you this message to inform you on the delivery status of a\r\nmessage you previously sent. Immediately below you will find a list of\r\nthe affected recipients; also attached is a Delivery Status Notification\r\n(DSN) report in standard format, as well as the headers of the original\r\nmessage.\r\n\r\n  <${to}>  delivery failed; will not continue trying`,
        `Reporting-MTA: dns;pmta.example\r\nX-PowerMTA-VirtualMTA: vmta1\r\n\r\nOriginal-Recipient: rfc822;${to}\r\nFinal-Recipient: rfc822;${to}\r\nAction: failed\r\nStatus: ${status} (undefined status)\r\nRemote-MTA: dns;mx.other.example (192.0.2.1)\r\nDiagnostic-Code: smtp;${reply}\r\nX-PowerMTA-BounceCategory: bad-mailbox`,
      ),
  ],
  [
    'MDaemon',
    (to, reply, status) =>
      report(
        'MDaemon at corp.example <MDaemon@corp.example>',
        'Permanent Delivery Failure',
        `The following data may contain sections which represent BASE64 encoded\r\nfile attachments.\r\n\r\nFailed address: ${to}\r\n\r\n--- Session Transcript ---\r\n <-- ${reply}`,
        `Reporting-MTA: dns; corp.example\r\nArrival-Date: Sat, 21 Nov 2026 10:00:00 +0000\r\n\r\nFinal-Recipient: rfc822;${to}\r\nAction: failed\r\nStatus: ${status}\r\nDiagnostic-Code: smtp; ${reply}`,
      ),
  ],
  [
    'Zoho',
    (to, reply, status) =>
      report(
        'mailer-daemon@mail.zoho.com',
        'Undelivered Mail Returned to Sender',
        `This message was created automatically by mail delivery software.\r\n A message that you sent could not be delivered to one or more of its recipients. This is a permanent error.\r\n\r\n${to} ERROR CODE :${reply}`,
        `Reporting-MTA: dns; mail.zoho.com\r\nArrival-Date: Sat, 21 Nov 2026 10:00:00 +0000\r\n\r\nOriginal-Recipient: rfc822; ${to}\r\nFinal-Recipient: rfc822; ${to}\r\nStatus: ${status}\r\nAction: failed\r\nDiagnostic-Code: smtp; ${reply}`,
      ),
  ],
  [
    'OpenSMTPD',
    (to, reply, status) =>
      report(
        'Mailer Daemon <MAILER-DAEMON@bsd.example>',
        'Delivery status notification: error',
        `    Hi!\r\n\r\n    This is the MAILER-DAEMON, please DO NOT REPLY to this email.\r\n\r\n    An error has occurred while attempting to deliver a message for\r\n    the following list of recipients:\r\n\r\n${to}: ${reply}`,
        `Reporting-MTA: dns; bsd.example\r\n\r\nFinal-Recipient: rfc822; ${to}\r\nAction: failed\r\nStatus: ${status}\r\nDiagnostic-Code: smtp; ${reply}`,
      ),
  ],
]

/** The same formats with mistakes that real programs make. */
const [, postfix] = clean[0] as Format
const [, exchange] = clean[5] as Format
const [, exim] = clean[1] as Format
const sloppy: Format[] = [
  [
    'no empty line between the fields of the message and those of the recipient',
    (to, reply, status) => postfix(to, reply, status).replace('+0000\r\n\r\nFinal-', '+0000\r\nFinal-'),
  ],
  [
    'empty lines between all fields',
    (to, reply, status) =>
      postfix(to, reply, status).replace(
        /\r\n(Action|Status|Remote-MTA|Diagnostic-Code|Original-Recipient):/g,
        '\r\n\r\n$1:',
      ),
  ],
  [
    'status declared as text',
    (to, reply, status) => postfix(to, reply, status).replace('message/delivery-status', 'text/plain'),
  ],
  [
    'status declared as a file',
    (to, reply, status) =>
      exchange(to, reply, status).replace('message/delivery-status', 'application/octet-stream; name="details.txt"'),
  ],
  [
    'multipart/mixed',
    (to, reply, status) =>
      postfix(to, reply, status).replace('multipart/report; report-type=delivery-status', 'multipart/mixed'),
  ],
  ['bare line feeds', (to, reply, status) => exim(to, reply, status).replaceAll('\r\n', '\n')],
  ['bare carriage returns', (to, reply, status) => postfix(to, reply, status).replaceAll('\r\n', '\r')],
  [
    'an address without its type, in brackets',
    (to, reply, status) => exim(to, reply, status).replace(`Final-Recipient: rfc822;${to}`, `Final-Recipient: <${to}>`),
  ],
  [
    'fields in other letters',
    (to, reply, status) =>
      postfix(to, reply, status)
        .replace('Final-Recipient: rfc822', 'FINAL-RECIPIENT: RFC822')
        .replace('Action: failed', 'action: Failed')
        .replace('Diagnostic-Code', 'diagnostic-code'),
  ],
  [
    'no type of diagnostic',
    (to, reply, status) => postfix(to, reply, status).replace('Diagnostic-Code: smtp; ', 'Diagnostic-Code: '),
  ],
  [
    'reason in the words only',
    (to, reply, status) =>
      postfix(to, reply, status)
        .replace(/\r\nDiagnostic-Code: [^\r]*/, '')
        .replace(/\r\nStatus: [^\r]*/, `\r\nStatus: ${status[0]}.0.0`),
  ],
  ['boundary that never closes', (to, reply, status) => exim(to, reply, status).replace('\r\n--=_b1--', '')],
  [
    'fields indented',
    (to, reply, status) =>
      exim(to, reply, status).replace(/\r\n(Action|Final-Recipient|Status|Diagnostic-Code):/g, '\r\n $1:'),
  ],
  [
    'base64',
    (to, reply, status) => {
      const fields = `Final-Recipient: rfc822; ${to}\r\nAction: failed\r\nStatus: ${status}\r\nDiagnostic-Code: smtp; ${reply}\r\n`
      return report(
        'postmaster@corp.example',
        'Undeliverable',
        'Sorry.',
        `${Buffer.from(fields).toString('base64')}`,
      ).replace('delivery-status\r\n\r\n', 'delivery-status\r\nContent-Transfer-Encoding: base64\r\n\r\n')
    },
  ],
  [
    'action in words of its own',
    (to, reply, status) => postfix(to, reply, status).replace('Action: failed', 'Action: failure (permanent)'),
  ],
  [
    'status behind words',
    (to, reply, status) => postfix(to, reply, status).replace(/Status: (\S+)/, 'Status: SMTP error $1 (see below)'),
  ],
]

/** Every format with several reasons in turn, all with a machine-readable part. */
export const deliveryNotices: Notice[] = [
  ...clean.map(row => [row, 14] as const),
  ...sloppy.map(row => [row, 7] as const),
].flatMap(([[name, write], count], n) =>
  Array.from({ length: count }, (_, i): Notice => {
    const [reply, cause, sub_type] = REASONS[(n * 5 + i) % REASONS.length] as Reason
    const recipient = `${['ann', 'bob.smith', 'info', 'o_brien+news', 'x-1'][i % 5]}@${['other.example', 'corp.example.net', 'mail.y.com'][n % 3]}`
    const status = /[245]\.\d+\.\d+/.exec(reply)?.[0] ?? '5.0.0'
    return {
      name: `${name}: ${reply.slice(0, 40)}`,
      raw: write(recipient, reply, status),
      recipient,
      class: cause,
      sub_type,
    }
  }),
)

const status = (action: string, code: string) =>
  postfix('ann@other.example', `${code[0]}50 ${code} x`, code).replace('Action: failed', `Action: ${action}`)

/** Notices that are not bounces, by action. */
export const harmlessNotices: [action: string, raw: string][] = [
  ['delayed', status('delayed', '4.4.1')],
  ['delivered', status('delivered', '2.0.0')],
  ['relayed', status('relayed', '2.1.9')],
  ['expanded', status('expanded', '2.1.5')],
]

/** A notice about two recipients of a message, of whom one got it. */
export const twoRecipients = postfix('ann@other.example', '550 5.1.1 No such user', '5.1.1').replace(
  'Diagnostic-Code:',
  'Diagnostic-Code: smtp; 550 5.1.1 No such user\r\n\r\nFinal-Recipient: rfc822; bob@other.example\r\nAction: delivered\r\nStatus: 2.0.0\r\nX-Note:',
)
