/** The message itself, returned by the staff of its receiver, without a part that describes it. */
function plainComplaint(from: string, original: string): string {
  return `From: ${from}\r\nTo: fbl@acme.com\r\nSubject: complaint about message from 203.0.113.7\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="F0000EEE2-0000-2111"\r\n\r\n--F0000EEE2-0000-2111\r\nContent-Type: message/rfc822\r\nContent-Disposition: inline\r\n\r\nX-HmXmrOriginalRecipient: ann@hotmail.com\r\n${original}\r\n\r\n--F0000EEE2-0000-2111--\r\n`
}

/** The mail that Apple Mail sends for its user to the address in List-Unsubscribe. */
export const appleUnsubscribe =
  'From: ann@icloud.com\r\nTo: x@acme.com\r\nSubject: unsubscribe\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=UTF-8\r\nContent-Transfer-Encoding: quoted-printable\r\nAuto-Submitted: auto-replied\r\nX-Apple-Unsubscribe: true\r\n\r\nApple Mail sent this email to unsubscribe from the message =E2=80=9CHello=E2=80=9D.\r\n'

/** Feedback reports as providers send them (RFC 5965), with `token` where they name the sender of the message. */
export function complaints(token: string): [name: string, raw: string][] {
  const returned = (fields = '') =>
    `${fields}From: hello@acme.com\r\nTo: redacted@y.com\r\nSubject: Hello\r\nMessage-ID: <01a1fe06-bc30-74e2-b59b-779a16313e3d@acme.com>\r\nDate: Sat, 21 Nov 2026 10:00:00 +0000\r\n\r\nHello`
  const report = (
    fields: string,
    original: string,
    { type = 'message/feedback-report', kind = 'message/rfc822' } = {},
  ) =>
    `From: <staff@hotmail.com>\r\nTo: fbl@acme.com\r\nSubject: complaint about message from 203.0.113.7\r\nDate: Sat, 21 Nov 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=feedback-report; boundary="part1"\r\n\r\n--part1\r\nContent-Type: text/plain; charset="US-ASCII"\r\n\r\nThis is an email abuse report for an email message received from IP 203.0.113.7.\r\n\r\n--part1\r\nContent-Type: ${type}\r\n\r\n${fields}\r\n\r\n--part1\r\nContent-Type: ${kind}\r\nContent-Disposition: inline\r\n\r\n${original}\r\n--part1--\r\n`
  const abuse = 'Feedback-Type: abuse\r\nUser-Agent: SomeGenerator/1.0\r\nVersion: 1'
  const mail_from = `\r\nOriginal-Mail-From: <${token}>`
  return [
    ['RFC 5965', report(abuse + mail_from, returned())],
    ['Microsoft', report(`${abuse}\r\nSource-IP: 203.0.113.7`, returned(`Return-Path: ${token}\r\n`))],
    [
      'Yahoo',
      report(
        `Feedback-Type: abuse\r\nUser-Agent: Yahoo!-Mail-Feedback/2.0\r\nVersion: 0.1${mail_from}\r\nOriginal-Rcpt-To: ann@yahoo.com\r\nReceived-Date: Sat, 21 Nov 2026`,
        returned(),
      ),
    ],
    [
      'AOL',
      report(
        `Feedback-Type: abuse\r\nUser-Agent: AOL SComp\r\nVersion: 0.1`,
        returned(`Return-Path: <${token}>\r\nReceived: from mx\r\n`),
      ),
    ],
    ['Mail.ru', report(`${abuse}\r\nReported-Domain: acme.com`, returned(`X-Envelope-From: ${token}\r\n`))],
    ['headers only', report(`${abuse}${mail_from}`, returned(), { kind: 'text/rfc822-headers' })],
    ['fraud', report(`Feedback-Type: fraud\r\nVersion: 1${mail_from}`, returned())],
    ['opt-out', report(`Feedback-Type: opt-out\r\nVersion: 1${mail_from}`, returned())],
    ['virus', report(`Feedback-Type: virus\r\nVersion: 1${mail_from}`, returned())],
    [
      'fields in other letters',
      report(`FEEDBACK-TYPE: Abuse\r\nVERSION: 1\r\noriginal-mail-from: ${token}`, returned()),
    ],
    ['wrong type of part', report(`${abuse}${mail_from}`, returned(), { type: 'text/plain' })],
    ['bare line feeds', report(abuse + mail_from, returned()).replaceAll('\r\n', '\n')],
    ['a folded field', report(`${abuse}\r\nOriginal-Mail-From:\r\n <${token}>`, returned())],
    ['an empty line first', report(`\r\n${abuse}${mail_from}`, returned())],
    ['JMRP, the message alone', plainComplaint('staff@hotmail.com', returned(`Return-Path: ${token}\r\n`))],
    [
      'Amazon',
      plainComplaint(
        'Complaints <complaints@email-abuse.amazonses.com>',
        returned(`Received: a\r\nReceived: b\r\n\tenvelope-from ${token}\r\n`),
      ),
    ],
  ]
}
