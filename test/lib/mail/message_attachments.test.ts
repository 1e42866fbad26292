import PostalMime from 'postal-mime'
import t from 'tap'
import { composeAndSign } from '#lib/mail/compose.ts'
import { composeMessage, type Message, type MessageAttachment } from '#lib/mail/message.ts'
import { file, image, plainMail } from '#test/support/mail/attachments.ts'

const source = async (change: Partial<Message>) =>
  (await composeAndSign({ ...plainMail, ...change }, [])).toString('latin1')

/** The content types of the parts, indented by level. */
const structure = async (change: Partial<Message>) => {
  const open: string[] = []
  const found: string[] = []
  for (const line of (await source(change)).replace(/\r\n /g, ' ').split('\r\n')) {
    const [, type, boundary] = /^Content-Type: ([^;]+).*?(?:boundary="([^"]+)")?$/.exec(line) ?? []
    if (type) found.push(`${' '.repeat(open.length)}${type}`)
    if (boundary) open.unshift(boundary)
    if (line === `--${open[0]}--`) open.shift()
  }
  t.strictSame(open, [], 'every multipart is ended')
  return found
}

const fieldsOf = async (attachment: MessageAttachment) => {
  const message = await source({ attachments: [attachment] })
  const [head = ''] = message.split(/--mb-[0-9a-f]+\r\n/)[2]?.split('\r\n\r\n') ?? []
  return head.replace(/\r\n /g, ' ').split('\r\n')
}

t.test('a message with a file is composed to exactly these bytes', async t => {
  const pdf = file('a'.repeat(60), { filename: 'report.pdf' })
  t.same((await source({ attachments: [pdf] })).split('\r\n').slice(5), [
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="mb-7d4ea1d973e8453e668ce772"',
    '',
    '--mb-7d4ea1d973e8453e668ce772',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: base64',
    '',
    'SGk=',
    '--mb-7d4ea1d973e8453e668ce772',
    'Content-Type: application/pdf; name="report.pdf"',
    'Content-Transfer-Encoding: base64',
    'Content-Disposition: attachment; filename="report.pdf"',
    '',
    'YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh',
    'YWFh',
    '--mb-7d4ea1d973e8453e668ce772--',
    '',
  ])
})

t.test('a message has only the multipart levels that it needs', async t => {
  const pdf = file('x', { filename: 'a.pdf' })
  const [text, html] = ['Hi', '<img src="cid:logo">']
  const [plain, hyper, both] = [' text/plain', ' text/html', ' multipart/alternative']
  t.same(await structure({ attachments: [pdf] }), ['multipart/mixed', plain, ' application/pdf'])
  t.same(await structure({ text: null, attachments: [pdf] }), ['multipart/mixed', plain, ' application/pdf'])
  t.same(await structure({ text: null, html, attachments: [image('logo')] }), [
    'multipart/related',
    ...[hyper, ' image/png'],
  ])
  t.same(await structure({ text, html, attachments: [pdf] }), [
    ...['multipart/mixed', both, `  ${plain.trim()}`, `  ${hyper.trim()}`, ' application/pdf'],
  ])
  t.same(await structure({ text, html, attachments: [pdf, image('logo'), pdf, image('b')] }), [
    'multipart/mixed',
    ' multipart/related',
    ...['  multipart/alternative', '   text/plain', '   text/html', '  image/png', '  image/png'],
    ...[' application/pdf', ' application/pdf'],
  ])
  t.match(await source({ text, html, attachments: [image('logo')] }), /related; type="multipart\/alternative";\r\n /)
})

t.test('a file that html cannot show inline is an attachment', async t => {
  const disposition = async (change: Partial<Message>) =>
    /Content-Disposition: (\w+)/.exec(await source({ html: '<p>', ...change }))?.[1]
  t.equal(await disposition({ attachments: [image('logo')] }), 'inline')
  t.equal(await disposition({ html: null, attachments: [image('logo')] }), 'attachment', 'no html')
  t.equal(await disposition({ attachments: [{ ...image('x'), content_id: null }] }), 'attachment', 'no content id')
  t.equal(await disposition({ attachments: [{ ...image('x'), content_type: 'text/plain' }] }), 'attachment', 'text')
  t.equal(await disposition({ attachments: [{ ...image('x'), content_disposition: 'attachment' }] }), 'attachment')
})

t.test('the content type is as given or by extension, and composite types become plain bytes', async t => {
  const type = async (filename: string, content_type: string | null = null) =>
    (await fieldsOf(file('x', { filename, content_type })))[0]?.replace(/; name=.*/, '')
  t.equal(await type('a.DOCX'), 'Content-Type: application/vnd.openxmlformats-officedocument.wordprocessingml.document')
  t.equal(await type('a.unknown'), 'Content-Type: application/octet-stream')
  t.equal(await type('pdf'), 'Content-Type: application/pdf')
  t.equal(await type('a.ics', 'text/calendar; component=x; name="b"'), 'Content-Type: text/calendar; component=x')
  for (const composite of ['message/rfc822', 'message/partial; id=a; number=1', 'Multipart/mixed; boundary=x']) {
    t.equal(await type('a.eml', composite), 'Content-Type: application/octet-stream')
  }
  t.equal(await type('a.eml'), 'Content-Type: application/octet-stream')
})

t.test('a filename that is not plain ASCII is encoded, with a plain fallback', async t => {
  const fields = async (filename: string) => {
    const [type = '', , disposition = ''] = await fieldsOf(file('x', { filename }))
    return [type.replace(/.*name=/, ''), disposition.replace('Content-Disposition: attachment; ', '')]
  }
  t.same(await fields("a b;c='d'.pdf"), [`"a b;c='d'.pdf"`, `filename="a b;c='d'.pdf"`])
  t.same(await fields('Résumé.pdf'), ['"Resume.pdf"', `filename*=utf-8''R%C3%A9sum%C3%A9.pdf`])
  t.same(await fields('日本 "x".pdf'), ['"_ _x_.pdf"', `filename*=utf-8''%E6%97%A5%E6%9C%AC%20%22x%22.pdf`])
  t.same(await fields('=?a?q?b?=.pdf'), ['"=_a?q?b?=.pdf"', 'filename="=_a?q?b?=.pdf"'])
  t.same(await fields('․․／x'), ['"__x"', `filename*=utf-8''%E2%80%A4%E2%80%A4%EF%BC%8Fx`], 'NFKD makes it ../x')
  t.same(await fields('\u0301'), ['"attachment"', `filename*=utf-8''%CC%81`])
  t.same(await fields(`${'x'.repeat(100)}.pdf`), [
    `"${'x'.repeat(56)}.pdf"`,
    `filename*0*=utf-8''${'x'.repeat(54)}; filename*1*=${'x'.repeat(46)}.pdf`,
  ])
})

const hostile = ['\r\n', '\n', '\r', '\r\n\r\n', '\r\n ', '\0', '\v', '\x1b', '\u0085', '\u2028', '\u2029', '\u202e']
const quotes = ['"', '"\r\n', '\\"', "''", '"; filename="b', '%0d%0a', '=?utf-8?Q?=0D=0A?=', '\ud800', '\u560d\u560a']

t.test('filenames cannot inject header lines or parameters', async t => {
  for (const end of [...hostile, ...quotes, 'x'.repeat(3000), 'é'.repeat(3000)]) {
    const filename = `a${end}Bcc: evil@example.net${end}.pdf`
    const message = await source({ html: '<p>', attachments: [file('x', { filename }), image(`logo`)] })
    const names = message.split('\r\n').filter(line => /^[^\s:]+:/.test(line))
    t.notOk(names.some(line => /^Bcc/i.test(line)))
    t.notMatch(message, /[^\t\r\n -~]|\r(?!\n)|(?<!\r)\n|.{79}/)
    const { attachments } = await PostalMime.parse(message)
    t.same(attachments.map(found => found.mimeType).sort(), ['application/pdf', 'image/png'])
    for (const { filename } of attachments) t.notMatch(filename, /[\r\n\0/\\\u2028\u2029\u202e]/)
  }
})

t.test('composeMessage refuses content ids and types that were not validated', async t => {
  for (const end of ['\r\n', '\r\n\r\n', '\n', '\0', 'ö', '\u2028', 'x'.repeat(1000)]) {
    await t.rejects(source({ attachments: [{ ...file('x'), content_id: `a${end}b` }] }), TypeError)
    await t.rejects(source({ attachments: [{ ...file('x'), content_type: `a/b${end}X-A: b` }] }), TypeError)
  }
  await t.rejects(source({ attachments: [{ ...file('x'), content_id: '<a>' }] }), TypeError)
})

t.test('a file of the wrong size, or one that cannot be read, is an error', async t => {
  const attach = (attachment: MessageAttachment) => composeAndSign({ ...plainMail, attachments: [attachment] }, [])
  const name = 'attachment "a.bin"'
  await t.rejects(attach(file('12345', { size: 4 })), { message: `${name} has more than its 4 bytes` })
  await t.rejects(attach(file('12345', { size: 6 })), { message: `${name} has 5 bytes instead of 6` })
  await t.rejects(attach(file('', { size: 1 })), { message: `${name} has 0 bytes instead of 1` })
  let isClosed = false
  const endless = file('', {
    size: 10,
    async *read() {
      try {
        for (;;) yield Buffer.alloc(7)
      } finally {
        isClosed = true
      }
    },
  })
  await t.rejects(attach(endless), /more than its 10 bytes/)
  t.ok(isClosed, 'the file being read is closed')
  const away = async function* () {
    yield* []
    throw new RangeError('away')
  }
  await t.rejects(attach(file('', { size: 1, read: away })), RangeError)
})

t.test('composeMessage throws for a message with attachments', async t => {
  t.throws(() => composeMessage({ ...plainMail, attachments: [file('x')] }), TypeError)
})
