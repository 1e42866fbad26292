import t from 'tap'
import { judgeRecipient } from '#lib/receiving/reports/judge_recipient.ts'
import { readReport } from '#lib/receiving/reports/read_report.ts'

const DAEMON = 'System Administrator <postmaster@other.example>'
const UNREACHED =
  'Your message\n\n  To:      ann@other.example\n  Subject: Hello\n\ndid not reach the following recipient(s):\n\nann@other.example on Sat, 21 Nov 2026 10:00:00 -0300\n    The e-mail account does not exist at this site\n'

const notice = (head: string, text: string) => `To: <b-token@send.acme.com>\n${head}\n\n${text}`

/** What a notice says of each recipient: its address, action, class and type of bounce. */
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
