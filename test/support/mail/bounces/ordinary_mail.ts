import { complaints } from './complaints.ts'
import { deliveryNotices } from './delivery_notices.ts'
import { textNotices } from './text_notices.ts'

const mail = (from: string, subject: string, text: string, more = '') =>
  `From: ${from}\r\nTo: hello@acme.com\r\nSubject: ${subject}\r\nDate: Sat, 21 Nov 2026 10:00:00 +0000\r\nMessage-ID: <o@y.com>\r\n${more}\r\n${text.replaceAll('\n', '\r\n')}\r\n`

const quote = (text: string) =>
  text
    .split(/\r?\n/)
    .map(line => `> ${line}`)
    .join('\n')
const bodyOf = (raw: string) => raw.replace(/^[\s\S]*?\r\n\r\n/, '')
const ANN = 'Ann <ann@y.com>'

/** Mail from people and programs that mentions bounces, resembles one, or comes from addresses that send bounces. */
export const ordinaryMail: [name: string, raw: string][] = [
  ...textNotices
    .slice(0, 12)
    .map(({ name, raw }): [string, string] => [
      `reply that quotes ${name}`,
      mail(ANN, 'Re: failure notice', `I got this, what is wrong?\n\n${quote(raw)}`),
    ]),
  ...textNotices
    .slice(12, 24)
    .map(({ name, raw }): [string, string] => [
      `forward of ${name}`,
      mail(
        ANN,
        'Fwd: Undelivered Mail Returned to Sender',
        `FYI\n\n---------- Forwarded message ---------\nFrom: MAILER-DAEMON@mx.example\n\n${bodyOf(raw)}`,
      ),
    ]),
  ...deliveryNotices
    .slice(0, 10)
    .map(({ name, raw }): [string, string] => [
      `attached ${name}`,
      mail(
        ANN,
        'Fwd: bounce',
        `--b9\nContent-Type: text/plain\n\nSee the attached bounce.\n\n--b9\nContent-Type: message/rfc822\n\n${raw}\n--b9--`,
        'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b9\r\n',
      ),
    ]),
  ...deliveryNotices
    .slice(20, 26)
    .map(({ name, raw }): [string, string] => [`pasted ${name}`, mail(ANN, 'Bounce?', bodyOf(raw))]),
  ...complaints('b-token@send.acme.com')
    .slice(0, 5)
    .map(([name, raw]): [string, string] => [`quoted complaint ${name}`, mail(ANN, 'Re: complaint', quote(raw))]),
  [
    'newsletter',
    mail(
      'Deliverability Weekly <news@deliverability.example>',
      'Why your mail bounces: 550 5.1.1 explained',
      'A bounce with 550 5.1.1 User unknown means that the mailbox does not exist.\nExample: <ann@other.example>: Recipient address rejected.\nUndeliverable mail hurts.',
      'List-Id: <weekly.deliverability.example>\r\nPrecedence: bulk\r\n',
    ),
  ],
  [
    'out of office',
    mail(
      'Bob <bob@y.com>',
      'Out of office: Hello',
      'I am out of the office until Monday. In urgent cases write to ann@y.com.',
      'Auto-Submitted: auto-replied\r\n',
    ),
  ],
  [
    'out of office from Exchange',
    mail(
      'Bob <bob@corp.example>',
      'Automatic reply: Hello',
      'I cannot be reached; mail is not delivered to my phone. Contact carl@corp.example.',
      'X-Auto-Response-Suppress: All\r\nAuto-Submitted: auto-generated\r\n',
    ),
  ],
  [
    'vacation of the postmaster',
    mail(
      'postmaster@y.com',
      'Out of office',
      'The postmaster is on vacation until 3 December. Write to ann@y.com. Your message could not be read.',
      'Auto-Submitted: auto-replied\r\n',
    ),
  ],
  [
    'Abwesenheit',
    mail(
      'Eva <eva@y.com>',
      'Abwesenheitsnotiz',
      'Ich bin nicht im Büro und kann Ihre Nachricht nicht lesen. Vertretung: ann@y.com',
      'Auto-Submitted: auto-replied\r\n',
    ),
  ],
  [
    'left the company',
    mail(
      'Bob <bob@y.com>',
      'Automatic reply',
      'Bob has left the company. This address is no longer valid, write to ann@y.com.',
      'Auto-Submitted: auto-replied\r\n',
    ),
  ],
  [
    'ticket',
    mail(
      'Support <support@y.com>',
      '[#123] We received your message',
      'Your message has been received. Do not reply to failed@y.com.',
      'Auto-Submitted: auto-replied\r\n',
    ),
  ],
  [
    'read receipt',
    mail(
      ANN,
      'Read: Hello',
      '--b8\nContent-Type: text/plain\n\nYour message was read.\n\n--b8\nContent-Type: message/disposition-notification\n\nReporting-UA: y.com; Mail\nFinal-Recipient: rfc822;ann@y.com\nOriginal-Message-ID: <01a1fe06@acme.com>\nDisposition: manual-action/MDN-sent-manually; displayed\n\n--b8--',
      'MIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=disposition-notification; boundary=b8\r\n',
    ),
  ],
  [
    'deleted unread',
    mail(
      ANN,
      'Not read: Hello',
      '--b8\nContent-Type: text/plain\n\nYour message was deleted without being read.\n\n--b8\nContent-Type: message/disposition-notification\n\nFinal-Recipient: rfc822;ann@y.com\nAction: failed\nStatus: 5.0.0\nDisposition: automatic-action/MDN-sent-automatically; deleted\n\n--b8--',
      'MIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=disposition-notification; boundary=b8\r\n',
    ),
  ],
  [
    'receipt in words',
    mail(
      'postmaster@y.com',
      'Delivered: Hello',
      'Your message has been delivered to the following recipients:\n\nann@y.com',
    ),
  ],
  [
    'digest of the postmaster',
    mail(
      'postmaster@y.com',
      'Quarantine summary for hello@acme.com',
      'These messages were not delivered to you:\n\nfrom spam@z.com: 550 5.7.1 spam',
    ),
  ],
  [
    'statistics of the daemon',
    mail(
      'Mail Delivery System <mailer-daemon@y.com>',
      'Weekly statistics',
      '12 messages bounced. Most of them to ann@y.com.',
    ),
  ],
  [
    'a person called Postmann',
    mail(
      'Petra Postmann <petra@y.com>',
      'Undeliverable parcel',
      'Your parcel could not be delivered to ann@y.com. We will try again.',
    ),
  ],
  [
    'shop',
    mail(
      'Parcels <noreply@parcel.example>',
      'Delivery failed',
      'Your delivery could not be completed. The address ann street 5 was not found. Write to help@parcel.example.',
    ),
  ],
  [
    'bank',
    mail('Bank <info@bank.example>', 'Payment rejected', 'Your payment to ann@y.com was rejected. Error 550 5.1.'),
  ],
  ['question', mail(ANN, 'Did it bounce?', 'Hi, did my mail to bob@y.com bounce? It said 550 5.1.1 user unknown.')],
  ['calendar', mail(ANN, 'Declined: Meeting', 'ann@y.com has declined.', 'Content-Type: text/calendar\r\n')],
  [
    'monitor',
    mail(
      'Nagios <nagios@y.com>',
      'PROBLEM: smtp on mx is CRITICAL',
      '421 4.3.2 Service not available. Undeliverable to ops@y.com',
    ),
  ],
  [
    'log of a server',
    mail(
      'Cron <root@y.com>',
      'Logwatch',
      'postfix: to=<ann@y.com>, dsn=5.1.1, status=bounced (host said: 550 5.1.1 User unknown)',
    ),
  ],
  [
    'list with a bounce policy',
    mail(
      'mailman@lists.example',
      'Your membership is disabled',
      'Your membership in the list has been disabled due to excessive bounces for ann@y.com.',
      'List-Id: <l.lists.example>\r\nPrecedence: list\r\n',
    ),
  ],
  ['empty', mail(ANN, '', '')],
  ['reply', mail(ANN, 'Re: Hello', 'Sounds good, call me.\n\n> Hello')],
]
