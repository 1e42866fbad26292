import t from 'tap'
import { judgeRecipient } from '#lib/receiving/reports/judge_recipient.ts'
import { readReport } from '#lib/receiving/reports/read_report.ts'
import { cpuMs } from '#test/support/cpu_time.ts'
import { deliveryNotices } from '#test/support/mail/bounces/delivery_notices.ts'
import { shows } from '#test/support/shows.ts'

const read = (raw: string, path: 'none' | 'path' | 'null' = 'null') => readReport(Buffer.from(raw), path)
const HEAD = 'From: postmaster@other.example\nSubject: Undeliverable: Hello\n'
const RETURNED = '--b\nContent-Type: message/rfc822\n\nFrom: hello@acme.com\nTo: ann@other.example\n\nHello\n--b--\n'

t.test('a notice without an address is read if it came to a return path with the message', async t => {
  const words =
    'did not reach the following recipient(s):\n\nAnn Smith on Sat, 21 Nov 2026\n    The recipient name is not recognized\n'
  const raw = `${HEAD}Content-Type: multipart/mixed; boundary=b\n\n--b\n\nYour message\n\n${words}${RETURNED}`
  shows(t, read(raw), { recipients: [{ address: null, action: 'failed', diagnostic: /not recognized/ }] })
  t.equal(read(raw, 'none'), null)
  t.equal(read(`${HEAD}\n${words}`), null, 'without the message')
  const weeks = raw
    .replace('Undeliverable: Hello', 'Warning: delayed')
    .replace('not recognized', 'known; we will keep trying')
  shows(t, read(weeks), { recipients: [{ action: 'delayed' }] })
})

t.test('recipients in encoded words are found', async t => {
  const word = Buffer.from('ann@other.example').toString('base64')
  const raw = `${HEAD}X-Failed-Recipients: =?UTF-8?B?${word}?=\n\nDelivery to the following recipient failed permanently\n`
  shows(t, read(raw), { recipients: [{ address: 'ann@other.example', action: 'failed' }] })
  shows(t, read(raw.replace(word, 'eA==').concat('\nann@other.example\n')), {
    recipients: [{ address: 'ann@other.example' }],
  })
})

t.test('a notification that a gateway has attached to its notice is read', async t => {
  const [first] = deliveryNotices
  const wrap = (inner: string) =>
    `${HEAD}Content-Type: multipart/mixed; boundary=w\n\n--w\n\nThese addresses had permanent errors:\n\n--w\nContent-Type: message/rfc822\n\n${inner.replaceAll('\r\n', '\n')}\n--w--\n`
  const { recipient = '', raw = '' } = first ?? {}
  shows(t, read(wrap(raw)), { recipients: [{ address: recipient, action: 'failed' }] })
  t.equal(read(wrap(raw).replace('postmaster@', 'ann@'), 'path'), null, 'attached by a person')
  const deep = wrap(
    `${'Content-Type: multipart/report; report-type=delivery-status; boundary=w\n\n--w\nContent-Type: message/rfc822\n\n'.repeat(4_000)}`,
  )
  const ms = await cpuMs(() => read(deep))
  t.ok(ms < 1_000, `${ms} ms`)
})

t.test('a bounce is read without the boundary that its header lost', async t => {
  const part =
    '------=_1.2\nContent-Type: text/plain\n\nError: no such user here\n\n  RCPT TO: ann@other.example\n\n------=_1.2--\n'
  const lost = 'Content-Type: multipart/mixed;\nboundary="----=_1.2"\n'
  for (const type of [lost, 'Content-Type: multipart/mixed\n']) {
    const raw = `From: post_master@other.example\nSubject: Re: Hello\n${type}\n${part}`
    shows(t, read(raw, 'none'), { recipients: [{ address: 'ann@other.example', action: 'failed' }] })
  }
})

t.test('words decide about a failure whose status says no more than that it is temporary', async t => {
  const causeOf = (status: string, diagnostic: string) =>
    judgeRecipient({ address: null, original: null, action: 'failed', status, diagnostic: `smtp; ${diagnostic}` }).class
  const missing =
    "DNS Error: 80335577 DNS type 'mx' lookup of other.example responded with code NXDOMAIN Domain name not found"
  const none = 'The domain does not receive email according to the administrator: returned Null MX'
  t.equal(causeOf('4.0.0', missing), 'recipient')
  t.equal(causeOf('4.0.0', none), 'recipient')
  t.equal(causeOf('4.4.3', missing), 'transient')
  t.equal(causeOf('4.0.0', 'Mailbox full'), 'transient')
  t.equal(causeOf('4.0.0', 'Host not found, try again'), 'transient')
  t.equal(causeOf('4.0.0', '451 Domain name not found'), 'transient')
})

t.test('a boundary of any length is searched in linear time', async t => {
  const boundary = `1${'--a'.repeat(20_000)}`
  const raw = `${HEAD}Content-Type: multipart/report; boundary="${boundary}"\n\n${'--a'.repeat(150_000)}`
  const ms = await cpuMs(() => read(raw))
  t.ok(ms < 2_000, `${ms} ms`)
  const lost = `${HEAD}Content-Type: multipart/mixed; boundary="${boundary}"\n\n--b\n\nann@other.example: no such user\n--b--\n`
  shows(t, read(lost), { recipients: [{ address: 'ann@other.example', action: 'failed' }] })
})

t.test('a notice is searched for each of many recipients in little time, however long it is', async t => {
  const names = Array.from({ length: 100 }, (_, n) => `${n}@${'aaaaaaab'.repeat(30)}`)
  const fields = names.map(name => `Final-Recipient: rfc822; ${name}\nAction: failed\n\n`).join('')
  const status = `--b\nContent-Type: message/delivery-status\n\n${fields}`
  const text = `${'aaaaaaab'.repeat(60_000)}\n`
  const raw = `${HEAD}Content-Type: multipart/report; boundary=b\n\n--b\n\n${text}${status}--b--\n`
  shows(t, read(raw), { recipients: { length: 100 } })
  const dashes = `${HEAD}\nfailed\n${'-'.repeat(480_000)}`
  const ms = await cpuMs(() => {
    for (let n = 0; n < 10; n++) for (const notice of [raw, dashes]) read(notice)
  })
  t.ok(ms < 1_200, `${ms} ms`)
})
