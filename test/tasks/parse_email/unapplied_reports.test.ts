import { pino } from 'pino'
import t from 'tap'
import { checkQueue } from '#flows/doctor/queue.ts'
import { appleUnsubscribe, complaints } from '#test/support/mail/bounces/complaints.ts'
import { harmlessNotices } from '#test/support/mail/bounces/delivery_notices.ts'
import { textDelays, textNotices } from '#test/support/mail/bounces/text_notices.ts'
import { receive } from '#test/support/receiving.ts'
import { acceptEmail, deliverEmails, openWork } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool
const lines: { msg: string; id: string; reason: string }[] = []
const log = pino({ level: 'warn' }, { write: line => void lines.push(JSON.parse(line)) })
const work = { ...openWork(t, world, 'capture'), log }
const account = await newAccount(world)

/** Sends an email; returns its return path. */
async function sentFrom(to: string): Promise<string> {
  const id = await acceptEmail(world, account, { to: [to] })
  await deliverEmails(work, [id])
  const { rows } = await pg.query(
    'SELECT mail_from FROM captured_messages m JOIN deliveries d ON d.id = m.delivery_id WHERE d.email_id = $1',
    [id],
  )
  return rows[0].mail_from
}

const path = await sentFrom('ann@y.com')
const mine = `me@${account.domain}`
const UNREAD = 'It looks like a report, but could not be read.'
const UNKNOWN = 'It matches no delivery: it was not sent to a return path of ours, and contains none.'
const report = (type: string, parts: string) =>
  `From: MAILER-DAEMON@mx.example\r\nSubject: Undelivered\r\nContent-Type: multipart/report; report-type=${type}; boundary=b\r\n\r\n--b\r\n${parts}\r\n--b--\r\n`
const notice = report(
  'delivery-status',
  'Content-Type: message/delivery-status\r\n\r\nFinal-Recipient: rfc822; ann@y.com\r\nAction: failed\r\nStatus: 5.1.1\r\n',
)
const noRecipient = report('delivery-status', 'Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n')
const inKlingon = 'From: no-reply@mx.example\r\nSubject: Qapla\r\n\r\nmajQa be\r\n'
const tooLong = `From: MAILER-DAEMON@mx.example\r\n${'X: y\r\n'.repeat(250_000)}`

t.test('a report without effect leaves a log line and a row', async t => {
  const cases: [raw: string, to: string, reason: RegExp | string][] = [
    [noRecipient, path, UNREAD],
    [noRecipient, mine, UNREAD],
    [inKlingon, path, UNREAD],
    [notice, mine, UNKNOWN],
    [notice, path.replace(/^b-../, 'b-xx'), UNKNOWN],
    [textNotices[0]?.raw ?? '', mine, UNKNOWN],
    [complaints('nobody@y.com')[0]?.[1] ?? '', mine, UNKNOWN],
    [appleUnsubscribe, mine, UNKNOWN],
    [tooLong, path, /longer than 1 MB/],
  ]
  for (const [raw, to, reason] of cases) {
    lines.length = 0
    const id = await receive(work, account, raw, { mail_from: '', received_for: [to] })
    const { rows } = await pg.query('SELECT reason FROM unapplied_reports WHERE received_email_id = $1', [id])
    t.equal(rows.length, 1, raw.slice(0, 200))
    t.match(rows[0]?.reason, reason)
    t.same(
      lines.map(line => [line.msg, line.id, line.reason]),
      [['a report was received and changed nothing', id, rows[0]?.reason]],
    )
  }
  const finding = (await checkQueue(world.pool)).find(({ check }) => check === 'reports')
  t.same(finding, {
    check: 'reports',
    level: 'warning',
    finding: `${cases.length} bounces and complaints of the last 7 days had no effect.`,
    fix: 'npm run admin -- report list',
  })
})

t.test('notices that have nothing to change leave no row', async t => {
  await pg.query('DELETE FROM unapplied_reports')
  lines.length = 0
  const [gone, absent] = [await sentFrom('gone@y.com'), await sentFrom('absent@y.com')]
  const absence = 'From: ann@y.com\r\nSubject: I am away\r\nAuto-Submitted: auto-replied\r\n\r\nBack on Monday.\r\n'
  const ofExchange =
    'From: ann@y.com\r\nSubject: =?utf-8?q?R=C3=A9ponse_automatique=3A_Hi?=\r\nAuto-Submitted: auto-generated\r\nX-Auto-Response-Suppress: All\r\n\r\nA lundi.\r\n'
  const receipt = report(
    'disposition-notification',
    'Content-Type: message/disposition-notification\r\n\r\nFinal-Recipient: rfc822; ann@y.com\r\nDisposition: a/b; displayed\r\n',
  )
  const peace = (complaints(path)[0]?.[1] ?? '').replace('Feedback-Type: abuse', 'Feedback-Type: not-spam')
  const cases: [raw: string, to: string, mail_from?: string][] = [
    [notice.replace('ann@y.com', 'gone@y.com'), gone],
    [notice.replace('ann@y.com', 'gone@y.com'), gone], // a second bounce of the same recipient
    [absence, absent],
    [ofExchange, absent],
    [receipt, absent],
    [peace, mine],
    ['From: ann@y.com\r\nSubject: Re: Hi\r\n\r\nThank you!\r\n', absent, 'ann@y.com'],
    ['From: ann@y.com\r\nSubject: Hello\r\n\r\nHello\r\n', mine, 'ann@y.com'],
    ...harmlessNotices.map(([, raw]): [string, string] => [raw, absent]),
    ...textDelays.map((raw): [string, string] => [raw, absent]),
  ]
  for (const [raw, to, mail_from = ''] of cases) {
    await receive(work, account, raw, { mail_from, received_for: [to] })
  }
  const { rows } = await pg.query('SELECT reason FROM unapplied_reports')
  t.same(rows, [])
  t.same(lines, [])
  const finding = (await checkQueue(world.pool)).find(({ check }) => check === 'reports')
  t.equal(finding?.level, 'ok')
})
