/**
 * Messages that are made to be slow or large to parse, by their method. `scale`: 1 gives about 100 KB each, 10 is what an
 * attacker would use.
 */
export const MIME_BOMBS: Record<string, (scale: number) => Buffer> = {
  'multiparts in multiparts': scale => nest(200 * scale, 'mixed'),
  'alternatives in alternatives': scale => nest(200 * scale, 'alternative'),
  'digests in digests': scale => nest(200 * scale, 'digest'),
  'messages in messages': scale => wrap(100 * scale, 'Content-Type: message/rfc822'),
  'encoded messages in messages': scale => {
    let message: Buffer = mail('', 'x'.repeat(10_000))
    for (let depth = 0; depth < Math.min(3 * scale, 12); depth++) {
      message = mail('Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64', lines(base64(message)))
    }
    return message
  },
  'a long message in many messages': scale => wrap(8, 'Content-Type: message/rfc822', 'x\r\n'.repeat(30_000 * scale)),
  'many parts': scale => parts(5_000 * scale, () => '\r\nx\r\n'),
  'many empty parts': scale => mail(MIXED, '--b\r\n'.repeat(20_000 * scale)),
  'many files': scale => parts(2_000 * scale, n => `Content-Disposition: attachment; filename="${n}.txt"\r\n\r\nx\r\n`),
  'many html texts': scale => parts(3_000 * scale, () => 'Content-Type: text/html\r\n\r\n<p>x\r\n'),
  'many texts of both kinds': scale =>
    parts(3_000 * scale, n => `Content-Type: text/${n % 2 ? 'html' : 'plain'}\r\n\r\n<p>x\r\n`),
  'many headers': scale => mail('X-A: b\r\n'.repeat(20_000 * scale).trimEnd(), 'x'),
  'many headers in many parts': scale => parts(200 * scale, () => `${'X-A: b\r\n'.repeat(200)}\r\nx\r\n`),
  'one long header': scale => mail(`X-A: ${'b'.repeat(200_000 * scale)}`, 'x'),
  'a header of many folds': scale => mail(`X-A: b${'\r\n b'.repeat(50_000 * scale)}`, 'x'),
  'a header of blanks': scale => mail(`X-A: b${' '.repeat(200_000 * scale)}c`, 'x'),
  'many recipients': scale =>
    mail(`To: ${Array.from({ length: 10_000 * scale }, (_, n) => `a${n}@y.com`).join(',\r\n ')}`, 'x'),
  'recipients in groups in groups': scale => mail(`To: ${'a:'.repeat(50_000 * scale)}`, 'x'),
  'comments in comments': scale => mail(`To: ${'('.repeat(100_000 * scale)}`, 'x'),
  'quotes without end': scale => mail(`To: ${'"\\'.repeat(50_000 * scale)}`, 'x'),
  'angle brackets': scale => mail(`To: ${'<a@'.repeat(50_000 * scale)}`, 'x'),
  'many encoded words': scale => mail(`Subject: ${'=?utf-8?Q?=C3=A9?= '.repeat(5_000 * scale)}`, 'x'),
  'encoded words that do not end': scale => mail(`Subject: ${'=?utf-8?Q?'.repeat(20_000 * scale)}`, 'x'),
  'encoded words of unknown charsets': scale =>
    mail(`Subject: ${Array.from({ length: 5_000 * scale }, (_, n) => `=?x-${n}?Q?a?=`).join(' ')}`, 'x'),
  'a name in many pieces': scale =>
    parts(1, () => {
      const pieces = Array.from({ length: 5_000 * scale }, (_, n) => `filename*${n}*=utf-8''a%20`)
      return `Content-Disposition: attachment; ${pieces.join(';\r\n ')}\r\n\r\nx\r\n`
    }),
  'many parameters': scale =>
    mail(`Content-Type: text/plain; ${Array.from({ length: 10_000 * scale }, (_, n) => `p${n}=v`).join('; ')}`, 'x'),
  'many boundaries that begin alike': scale => {
    const boundary = 'b'.repeat(60)
    return mail(
      `Content-Type: multipart/mixed; boundary=${boundary}`,
      `--${boundary.slice(1)}x\r\n`.repeat(3_000 * scale),
    )
  },
  'lines that begin like delimiters, in many levels': scale =>
    Buffer.concat([nest(900, 'mixed'), Buffer.from(`${'--b\r\n--\r\n--b1--x\r\n'.repeat(30_000 * scale)}`)]),
  'one boundary in many levels': scale =>
    mail(MIXED, `--b\r\n${MIXED}\r\n\r\n`.repeat(900) + '--b--\r\n'.repeat(50_000 * scale)),
  'parts without an empty line': scale => parts(900, () => `${'a: b\r\nno field\r\n'.repeat(20 * scale)}`),
  'a boundary in comments': scale => mail(`Content-Type: multipart/mixed; ${'('.repeat(90_000 * scale)}`, 'x'),
  'base64 of rubbish': scale =>
    mail('Content-Transfer-Encoding: base64', `QUJD\r\n${'!\r\n'.repeat(20_000)}QUJD\r\n`.repeat(2 * scale)),
  'base64 of blanks': scale =>
    mail('Content-Transfer-Encoding: base64', `QUJD\r\n${'QUJD QUJD\r\n'.repeat(30_000 * scale)}`),
  'words with 8-bit bytes that do not end': scale =>
    mail(`Subject: ${'=?iso-8859-1?Q?\xe9'.repeat(5_000 * scale)}`, 'x'),
  'chains of cids': scale => {
    const image = (n: number) => `Content-Type: image/png\r\nContent-ID: <${n}@i>\r\n\r\nx\r\n`
    const refers = Array.from({ length: 10_000 * scale }, (_, n) => `<img src="cid:${n % 100}@i">`).join('\r\n')
    return parts(101, n => (n === 0 ? `Content-Type: text/html\r\n\r\n${refers}\r\n` : image(n - 1)), 'related')
  },
  'html that is deep': scale => mail('Content-Type: text/html', '<div>'.repeat(50_000 * scale)),
  'html beside a plain text, full of brackets': scale =>
    parts(2, n => (n ? `Content-Type: text/html\r\n\r\n${'<a href="<!--'.repeat(20_000 * scale)}\r\n` : '\r\nx\r\n')),
  'lines that are empty': scale =>
    mail('Content-Type: text/plain; format=flowed; delsp=yes', ' \r\n'.repeat(100_000 * scale)),
  'lines of nothing at all': scale => mail('Content-Type: text/html; charset=koi8-r', '\n'.repeat(400_000 * scale)),
  'a file of short lines': scale =>
    parts(1, () => `Content-Disposition: attachment\r\n\r\n${'a\n'.repeat(200_000 * scale)}\r\n`),
  'base64 of short lines': scale => mail('Content-Transfer-Encoding: base64', 'YQ==\n'.repeat(100_000 * scale)),
  'quoted-printable of soft lines': scale =>
    mail('Content-Transfer-Encoding: quoted-printable', '=\n'.repeat(200_000 * scale)),
  'quoted-printable of blanks': scale =>
    mail('Content-Transfer-Encoding: quoted-printable', '= '.repeat(20_000 * scale) + ' '.repeat(200_000 * scale)),
  'text of one line': scale => mail('Content-Transfer-Encoding: quoted-printable', '=E9'.repeat(200_000 * scale)),
  'a charset that shifts': scale =>
    mail('Content-Type: text/plain; charset=iso-2022-jp', '\x1b$B\x1b(B'.repeat(30_000 * scale)),
  'utf-7 that never ends': scale => mail('Content-Type: text/plain; charset=utf-7', '+AAA'.repeat(50_000 * scale)),
}

const MIXED = 'Content-Type: multipart/mixed; boundary=b'

function mail(headers: string, body: string): Buffer {
  const head = /^(From|To):/.test(headers) ? '' : 'To: me@acme.com\r\n'
  return Buffer.from(`From: a@y.com\r\n${head}${headers ? `${headers}\r\n` : ''}\r\n${body}`, 'latin1')
}

function parts(count: number, write: (n: number) => string, subtype = 'mixed'): Buffer {
  const all = Array.from({ length: count }, (_, n) => `--b\r\n${write(n)}`)
  return mail(`Content-Type: multipart/${subtype}; boundary=b`, `${all.join('')}--b--\r\n`)
}

function nest(depth: number, subtype: string): Buffer {
  const head = (n: number) => `Content-Type: multipart/${subtype}; boundary=b${n}`
  const levels = Array.from({ length: depth }, (_, n) => `--b${n}\r\n${head(n + 1)}\r\n\r\n`)
  return mail(head(0), levels.join(''))
}

function wrap(depth: number, head: string, inner = 'x'): Buffer {
  return mail(head, `${`From: a@y.com\r\n${head}\r\n\r\n`.repeat(depth)}Subject: in\r\n\r\n${inner}`)
}

function base64(content: Buffer): string {
  return content.toString('base64')
}

function lines(text: string): string {
  return text.replace(/.{76}/g, '$&\r\n')
}
