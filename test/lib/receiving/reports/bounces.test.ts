import t from 'tap'
import { judgeRecipient } from '#lib/receiving/reports/judge_recipient.ts'
import { readReport } from '#lib/receiving/reports/read_report.ts'
import { cpuMs } from '#test/support/cpu_time.ts'
import { complaints } from '#test/support/mail/bounces/complaints.ts'
import { deliveryNotices, harmlessNotices, twoRecipients } from '#test/support/mail/bounces/delivery_notices.ts'
import { ordinaryMail } from '#test/support/mail/bounces/ordinary_mail.ts'
import { asReceived, LINE_ENDS } from '#test/support/mail/bounces/received.ts'
import { severalNotices, textDelays, textNotices } from '#test/support/mail/bounces/text_notices.ts'
import { shows } from '#test/support/shows.ts'

const read = (raw: string) => readReport(Buffer.from(raw))

/** The recipient that the report says has failed, and why. */
function failureOf(raw: string): { recipient: string | null; class: string; sub_type: string } | null {
  const report = read(raw)
  const failed = report?.kind === 'delivery' ? report.recipients.find(({ action }) => action === 'failed') : null
  if (!failed) return null
  const verdict = judgeRecipient(failed)
  return { recipient: failed.address, class: verdict.class, sub_type: verdict.bounce.subType }
}

t.test('a delivery status notification names the failed recipient and the cause, even if malformed', async t => {
  const wrong = deliveryNotices.filter(({ name, raw, ...expected }) => {
    const found = failureOf(raw)
    const isRight = JSON.stringify(found) === JSON.stringify(expected)
    if (!isRight) t.comment(name, found, expected)
    return !isRight
  })
  t.ok(deliveryNotices.length >= 250, `${deliveryNotices.length}`)
  t.ok(wrong.length <= deliveryNotices.length * 0.02, `${wrong.length} of ${deliveryNotices.length} are wrong`)
})

t.test('a bounce in plain text is mostly understood, and never blames a quoted address', async t => {
  const wrong = textNotices.filter(({ name, raw, ...expected }) => {
    const found = failureOf(raw)
    const isRight = found?.recipient === expected.recipient && found.class === expected.class
    if (!isRight) t.comment(name, found, expected)
    t.ok(!found || found.recipient === expected.recipient, `${name}: ${found?.recipient}`)
    return !isRight
  })
  t.ok(wrong.length <= textNotices.length * 0.1, `${wrong.length} of ${textNotices.length} are wrong`)
})

t.test('every feedback report is a complaint and contains our token', async t => {
  const token = `b-${'a'.repeat(42)}@send.acme.com`
  for (const [name, raw] of complaints(token)) {
    const report = read(raw)
    t.ok(report?.kind === 'complaint' && report.texts.some(text => text.includes(token)), name)
  }
  const peace = complaints(token)[0]?.[1].replace('Feedback-Type: abuse', 'Feedback-Type: not-spam') ?? ''
  t.equal(read(peace), null, 'not-spam')
  t.equal(read(peace.replace('not-spam', 'auth-failure')), null, 'auth-failure')
})

t.test('ordinary mail is not a report, whatever it quotes', async t => {
  for (const [name, raw] of ordinaryMail) t.equal(read(raw), null, name)
})

t.test('a notice of delay or delivery is not a failure', async t => {
  for (const [action, raw] of harmlessNotices) shows(t, read(raw), { recipients: [{ action }] })
  for (const raw of textDelays)
    shows(t, read(raw), { recipients: [{ address: 'ann@other.example', action: 'delayed' }] })
})

t.test('a plain-text notice is about a role address only if it lists it', async t => {
  const notice = (daemon: string, text: string) =>
    `From: ${daemon}\nSubject: failure notice\n\nYour message could not be delivered.\n\n${text}\n`
  const daemon = 'MAILER-DAEMON@mx.host.example'
  for (const role of ['postmaster', 'support', 'abuse', 'help']) {
    const other = `${role}@other.example`
    const listed = `<${other}>:\nSorry, no mailbox here by that name. (#5.1.1)`
    t.match(failureOf(notice(daemon, listed)), { recipient: other, class: 'recipient' }, `${role}, listed`)
    const own = notice('MAILER-DAEMON@mx.other.example', listed)
    t.match(failureOf(own), { recipient: other, class: 'recipient' }, `${role}, by its own server`)
    const told = notice(daemon, `Delivery to ${other} failed: 550 5.1.1 User unknown`)
    t.match(failureOf(told), { recipient: other, class: 'recipient' }, `${role}, told`)
    const whomToAsk = `Delivery to ann@other.example failed: 550 5.1.1 User unknown\n\n${role}@host.example\n`
    t.match(failureOf(notice(daemon, whomToAsk)), { recipient: 'ann@other.example' }, `${role}, whom to ask`)
  }
})

t.test('each recipient of a notice has its own action', async t => {
  shows(t, read(twoRecipients), {
    recipients: [
      { address: 'ann@other.example', action: 'failed' },
      { address: 'bob@other.example', action: 'delivered' },
    ],
  })
})

t.test('a plain-text notice is read for each of its recipients', async t => {
  for (const [name, raw, expected] of severalNotices) {
    const report = read(raw)
    const recipients = report?.kind === 'delivery' ? report.recipients : []
    t.same(
      recipients.map(one => {
        const { class: cause, bounce } = judgeRecipient(one)
        return [one.address, one.action, cause, bounce.subType]
      }),
      expected.map(([address, cause, sub_type]) => [address, 'failed', cause, sub_type]),
      name,
    )
  }
})

t.test('readReport reads a notice with any hops and line ends', async t => {
  const token = `b-${'a'.repeat(42)}@send.acme.com`
  const all = [
    ...deliveryNotices.map(({ name, raw }) => [name, raw] as const),
    ...harmlessNotices,
    ...textNotices.map(({ name, raw }) => [name, raw] as const),
    ...textDelays.map(raw => ['delay', raw] as const),
    ...complaints(token),
    ...ordinaryMail,
  ]
  const lost = all.flatMap(([name, raw], n) => {
    const expected = JSON.stringify(read(raw))
    return LINE_ENDS.flatMap(end => {
      const came = asReceived(raw, n).replaceAll('\r\n', end)
      const found = JSON.stringify(read(came))
      return found === expected ? [] : [`${name} with ${JSON.stringify(end)}`]
    })
  })
  t.ok(all.length > 400, `${all.length}`)
  t.same(lost, [])
})

t.test('hostile reports are read in little time', async t => {
  const [first] = deliveryNotices
  const hostile = [
    `From: MAILER-DAEMON@x\r\nContent-Type: multipart/report; boundary=b\r\n\r\n${'--b\r\n'.repeat(100_000)}`,
    `From: MAILER-DAEMON@x\r\nSubject: failure notice\r\n\r\n${'a@'.repeat(250_000)}`,
    `From: MAILER-DAEMON@x\r\nSubject: failure notice\r\n\r\n${'<'.repeat(500_000)}`,
    `From: MAILER-DAEMON@x\r\nSubject: failure notice\r\n\r\n${'550 '.repeat(100_000)}`,
    `From: MAILER-DAEMON@x\r\nSubject: failure notice\r\n\r\n${' '.repeat(400_000)}x`,
    `From: MAILER-DAEMON@x\r\nSubject: failure notice\r\n\r\n${'- '.repeat(200_000)}`,
    `From: MAILER-DAEMON@x\r\nSubject: failure notice\r\n\r\n${'recipient '.repeat(40_000)}`,
    `From: MAILER-DAEMON@x\r\nSubject: failure notice\r\n\r\n${Array.from({ length: 60_000 }, (_, n) => `a${n % 900}@b.c`).join('\r\n')}`,
    `From: MAILER-DAEMON@x\r\nSubject: failure notice\r\n\r\n${'550 <a@b.c>... 550 '.repeat(30_000)}`,
    `From: MAILER-DAEMON@x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n'.repeat(10_000)}`,
    `From: MAILER-DAEMON@x\r\nContent-Type: text/html\r\n\r\nfailed${'<script '.repeat(60_000)}`,
    `From: MAILER-DAEMON@x\r\n${'X: y\r\n'.repeat(80_000)}\r\nfailure`,
    `From: ${'<'.repeat(60_000)}\r\n\r\nfailure`,
    first?.raw.replace('Diagnostic-Code: smtp;', `Diagnostic-Code: ${' smtp;'.repeat(60_000)}`) ?? '',
  ]
  for (const [n, raw] of hostile.entries()) {
    const ms = await cpuMs(() => read(raw))
    t.ok(ms < 2_000, `${n}: ${Math.round(ms)} ms`)
  }
})
