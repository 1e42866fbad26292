import { readConfig } from '#lib/config.ts'
import { checkVirus } from '#lib/receiving/verdicts/clamav.ts'
import { report } from '#test/faults/support/judged.ts'

const { CLAMAV } = readConfig({ CLAMAV: process.argv[2] })
if (!CLAMAV) throw new Error('give the address of clamd')

const EICAR = Buffer.from('X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*')
const head = 'From: ann@acme.com\r\nSubject: Lunch\r\nMIME-Version: 1.0\r\n'

/** A message with this attachment. */
const mail = (content: Buffer) =>
  Buffer.from(
    [
      `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nHi`,
      '--b\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64',
      `Content-Disposition: attachment; filename=a.com\r\n\r\n${content.toString('base64').replace(/.{76}/g, '$&\r\n')}`,
      '--b--\r\n',
    ].join('\r\n'),
  )

const judged = (raw: Buffer) => checkVirus(CLAMAV, raw)

await report({
  'a clean message': [judged(Buffer.from(`${head}\r\nHi\r\n`)), 'PASS'],
  'a clean file': [judged(mail(Buffer.from('nothing'))), 'PASS'],
  'EICAR in the text': [judged(Buffer.from(`${head}\r\n${EICAR}\r\n`)), 'FAIL'],
  'EICAR as a file': [judged(mail(EICAR)), 'FAIL'],
  'EICAR behind 3 MB': [
    judged(Buffer.concat([Buffer.from(`${head}\r\n`), Buffer.alloc(3_000_000, 'a\r\n'), EICAR])),
    'FAIL',
  ],
  'a message of nothing': [judged(Buffer.alloc(0)), 'PASS'],
  'more than clamd takes': [judged(mail(Buffer.alloc(20_000_000))), 'an error'],
})
