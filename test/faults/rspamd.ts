import { checkSpam } from '#lib/receiving/verdicts/rspamd.ts'
import { report } from '#test/faults/support/judged.ts'

const [url = ''] = process.argv.slice(2)
const envelope = {
  address: '192.0.2.1',
  name: 'mx.acme.com',
  helo: 'mx.acme.com',
  mail_from: 'ann@acme.com',
  rcpt_to: ['me@x.com'],
}
const GTUBE = 'JS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X'

const mail = (text: string) =>
  Buffer.from(
    [
      'From: Ann <ann@acme.com>',
      'To: Me <me@x.com>',
      'Subject: Lunch',
      `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
      'Message-ID: <1@acme.com>',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      '',
      text,
      '',
    ].join('\r\n'),
  )

const judged = (raw: Buffer, from = envelope) => checkSpam(url, from, raw)

await report({
  'a clean message': [judged(mail('Shall we eat at noon?')), 'PASS'],
  'GTUBE, refused': [judged(mail(`X${GTUBE}`)), 'FAIL'],
  'GTUBE, marked': [judged(mail(`Y${GTUBE}`)), 'FAIL'],
  'GTUBE, its subject rewritten': [judged(mail(`Z${GTUBE}`)), 'FAIL'],
  'a null sender': [judged(mail('Your mail has come.'), { ...envelope, mail_from: '' }), 'PASS'],
  'a sender who writes headers': [
    judged(mail('Hi'), { ...envelope, helo: 'a\r\nSettings: {}', mail_from: 'ü\n@' }),
    null,
  ],
  'a message of 20 MB': [judged(mail('A line, again and again.\r\n'.repeat(800_000))), 'PASS'],
  'a message of nothing': [judged(Buffer.from('\r\n')), null],
})
