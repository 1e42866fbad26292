import t from 'tap'
import { judgeRecipient } from '#lib/receiving/reports/judge_recipient.ts'
import { readReport } from '#lib/receiving/reports/read_report.ts'

const DAEMON = 'System Administrator <postmaster@other.example>'
const UNREACHED =
  'Your message\n\n  To:      ann@other.example\n  Subject: Hello\n\ndid not reach the following recipient(s):\n\nann@other.example on Sat, 21 Nov 2026 10:00:00 -0300\n    The e-mail account does not exist at this site\n'

const notice = (head: string, text: string) => `To: <b-token@send.acme.com>\n${head}\n\n${text}`

/** Returns the address, action, class and type of bounce of each recipient that a notice reports. */
function resultsOf(raw: string): (string | null)[][] {
  const report = readReport(Buffer.from(raw, 'latin1'))
  const recipients = report?.kind === 'delivery' ? report.recipients : []
  return recipients.map(one => {
    const { class: cause, bounce } = judgeRecipient(one)
    return [one.address, one.action, cause, bounce.subType]
  })
}

const GONE = [['ann@other.example', 'failed', 'recipient', 'NoEmail']]

t.test('a bounce is read whatever the subject of the returned message says', async t => {
  for (const subject of [
    'March newsletter',
    'Weekly digest',
    'Your receipt',
    'Vacation offers',
    'Delay of your order',
  ]) {
    const raw = notice(`From: ${DAEMON}\nSubject: Undeliverable: ${subject}`, UNREACHED)
    t.same(resultsOf(raw), GONE, subject)
  }
  const late = 'Subject: Mail delivery problem: message delayed 4 hours'
  const text = 'Delivery is delayed. We will keep trying.\n\nann@other.example\n'
  t.same(resultsOf(notice(`From: ${DAEMON}\n${late}`, text))[0]?.slice(0, 2), ['ann@other.example', 'delayed'])
})

t.test('the subject of the returned message is no reason', async t => {
  const text = UNREACHED.replace('Hello', 'No spam, no virus').replace(
    'e-mail account does not exist',
    'recipient name is not recognized',
  )
  t.same(resultsOf(notice(`From: ${DAEMON}\nSubject: Undeliverable: x`, text)), GONE)
})

const POSTFIX = 'This is the mail system at host mx.example.\n\n'
const EXIM = 'A message that you sent could not be delivered to one or more of its\nrecipients.\n\n'

/** A notice with a delivery status, which does not name the refused command, and with words, which do. */
const withStatus = (words: string, status: string) =>
  notice(
    'From: MAILER-DAEMON@mx.example\nSubject: Undelivered Mail\nContent-Type: multipart/report; boundary=b',
    `--b\n\n${words}\n--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example\n\n${status}\n--b--\n`,
  )

const status = (address: string, reply: string) =>
  `Final-Recipient: rfc822; ${address}\nAction: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp; ${reply}\n`

t.test('a notice is judged by the command that it says was refused', async t => {
  const ann = 'ann@other.example'
  const vague = '550 BAD_ADDRESS'
  const missing = '553 5.1.0 acme.com does not exist'
  const rows: [words: string, reply: string, cause: string][] = [
    [`${POSTFIX}<${ann}>: host mx said: ${vague} (in reply to\n    RCPT TO command)\n`, vague, 'recipient'],
    [`${POSTFIX}<${ann}>: host mx said: ${vague} (in reply to end of DATA\n    command)\n`, vague, 'content'],
    [`${POSTFIX}<${ann}>: host mx said: ${missing} (in reply to MAIL FROM\n    command)\n`, missing, 'sender'],
    [
      `${EXIM}  ${ann}\n    SMTP error from remote mail server after RCPT TO:<${ann}>:\n    ${vague}`,
      vague,
      'recipient',
    ],
    [
      `${EXIM}  ${ann}\n    SMTP error from remote mail server after MAIL FROM:<b@acme.com>:\n    ${missing}`,
      missing,
      'sender',
    ],
    [`<${ann}>\n\n... while talking to mx:\n>>> RCPT To:<${ann}>\n<<< ${vague}\n`, vague, 'recipient'],
    [`<${ann}>\n\n... while talking to mx:\n>>> DATA\n<<< ${vague}\n`, vague, 'content'],
  ]
  for (const [words, reply, cause] of rows) {
    t.equal(resultsOf(withStatus(words, status(ann, reply)))[0]?.[2], cause, words)
  }
  const bob = 'bob@other.example'
  const two = `${POSTFIX}<${ann}>: host mx said: ${vague} (in reply to RCPT TO command)\n\n<${bob}>: host mx said: ${vague} (in reply to end of DATA command)\n`
  const causes = resultsOf(withStatus(two, `${status(ann, vague)}\n${status(bob, vague)}`)).map(([, , cause]) => cause)
  t.same(causes, ['recipient', 'content'])
  const qmail = `Hi. This is the qmail-send program.\n\n<${ann}>:\n192.0.2.1 does not like recipient.\nRemote host said: ${vague}\n`
  t.equal(resultsOf(notice('From: MAILER-DAEMON@mx.example\nSubject: failure notice', qmail))[0]?.[2], 'recipient')
})

t.test('the footer of a virus scanner does not override the status of a notice', async t => {
  const words =
    'Delivery to the following recipients failed.\n\n  ann@other.example\n\n____________\nThis email has been scanned for viruses and spam by Scan.\n'
  const given = 'Final-Recipient: rfc822;ann@other.example\nAction: failed\nStatus: 5.1.1\n'
  t.same(resultsOf(withStatus(words, given)), GONE)
})

t.test('a bounce is read in the charset that it names, or with a subject in encoded words alone', async t => {
  const rows = [
    [
      'Content-Type: text/plain; charset=koi8-r',
      '\xf0\xc9\xd3\xd8\xcd\xcf \xce\xc5 \xc4\xcf\xd3\xd4\xc1\xd7\xcc\xc5\xce\xcf',
    ],
    ['Content-Type: text/plain; charset=gb2312', '\xd3\xca\xbc\xfe\xce\xde\xb7\xa8\xcd\xb6\xb5\xdd'],
    [
      'Content-Type: text/plain; charset=iso-2022-jp',
      '\x1b\x24B<!\x24N%"%I%l%9\x24XG[?.\x24G\x24-\x24^\x24;\x24s\x1b(B',
    ],
    ['Subject: =?gb2312?B?z7XNs83L0MU=?=', 'x'],
  ] as const
  for (const [field, words] of rows) {
    const raw = notice(`From: MAILER-DAEMON@mx.example\n${field}`, `${words}\n\nann@other.example:\n5.1.1\n`)
    t.same(resultsOf(raw), GONE, field)
  }
})

t.test('a line of dashes before the recipient is no end of the notice', async t => {
  const words =
    'For assistance, write to <help@mx.example>.\n\n----------\n\n<ann@other.example>: host mx said: 550 User unknown\n'
  t.same(resultsOf(notice('From: MAILER-DAEMON@mx.example\nSubject: Undelivered Mail', words)), GONE)
})
