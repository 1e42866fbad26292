import t from 'tap'
import {
  clipFilename,
  defaultFilename,
  MAX_CONTENT_ID,
  MAX_CONTENT_TYPE,
  MAX_FILENAME,
  parseContentType,
  safeFilename,
  validateAttachment,
  validateContentId,
  validateContentType,
  validateFilename,
} from '#lib/mail/attachment_limits.ts'

/** Characters that end a line, hide something or reverse text. */
const HOSTILE = [
  ...['\r\n', '\n', '\r', '\r\n\r\n', '\n\n', '\n\r', '\r\n ', '\r\n\t', '\0', '\0\r\n', '\t', '\v', '\f', '\b'],
  ...['\x1b', '\x1c', '\x7f', '\u0080', '\u0085', '\u009f', '\u2028', '\u2029', '\u061c', '\u200e', '\u200f'],
  ...['\u202a', '\u202b', '\u202d', '\u202e', '\u2066', '\u2067', '\u2069', '/', '\\', '\ud800', '\udfff'],
]

t.test('validateFilename accepts names that people give to files', async t => {
  const names = ['a', 'a.pdf', 'Résumé (final).docx', '日本語.txt', '👩‍🚀.png', '.env', 'a..b', '...', `O'Neil "1".pdf`]
  for (const name of [...names, 'a;b=c,d.pdf', '100%.pdf', 'x'.repeat(MAX_FILENAME)]) {
    t.equal(validateFilename(name), null, name)
    t.equal(safeFilename(name), name, 'and is kept')
  }
})

t.test('validateFilename refuses hostile names, which safeFilename cleans', async t => {
  for (const hostile of HOSTILE) {
    for (const name of [`a${hostile}b.pdf`, `a.pdf${hostile}`, `a${hostile}Bcc: evil@z.com`, `..${hostile}etc`]) {
      t.ok(validateFilename(name), encodeURIComponent(name.toWellFormed()))
      t.equal(validateFilename(safeFilename(name)), null)
    }
  }
  for (const name of ['', ' ', '.', '..', ' .. ', '\u00a0', 'x'.repeat(MAX_FILENAME + 1), `${'x'.repeat(300)}.pdf`]) {
    t.ok(validateFilename(name), name)
    t.equal(validateFilename(safeFilename(name)), null)
  }
  t.equal(safeFilename('=?utf-8?Q?=0A?='), '=_utf-8?Q?=0A?=')
  t.equal(safeFilename('../../etc/passwd'), '.._.._etc_passwd')
  t.equal(safeFilename('invoice\u202efdp.exe'), 'invoice_fdp.exe')
})

t.test('a file without a name is named after its path or its type', async t => {
  for (const [url, type, name] of [
    ['https://a.com/files/report.pdf?version=2#page', null, 'report.pdf'],
    ['https://a.com/R%C3%A9sum%C3%A9%20(final).docx', 'text/plain', 'Résumé (final).docx'],
    ['https://a.com/100%.pdf', null, '100%.pdf'],
    ['https://a.com/a%2F..%2Fetc%00', null, 'a_.._etc_'],
    [`https://a.com/${'x'.repeat(300)}.pdf`, null, `${'x'.repeat(MAX_FILENAME - 4)}.pdf`],
    ['https://a.com/files/', 'image/png', 'attachment.png'],
    ['https://a.com', null, 'attachment'],
    [null, 'text/plain; charset=utf-8', 'attachment.txt'],
    [null, 'message/rfc822', 'attachment.eml'],
    [null, 'application/x-unheard-of', 'attachment'],
    [null, null, 'attachment'],
  ] as const) {
    t.equal(defaultFilename(url, type), name)
    t.equal(validateFilename(name), null)
  }
})

t.test('clipFilename keeps the extension and whole characters', async t => {
  t.equal(clipFilename('report.pdf', 10), 'report.pdf')
  t.equal(clipFilename('report2.pdf', 10), 'report.pdf')
  t.equal(clipFilename('repor😀t.pdf', 10), 'repor.pdf')
  t.equal(clipFilename('no extension', 5), 'no ex')
})

t.test('validateContentType accepts a type, a subtype and simple parameters', async t => {
  const types = `image/png application/vnd.ms-excel.sheet.12 image/svg+xml text/plain;charset=utf-8 X-a/x.y_z`.split(
    ' ',
  )
  for (const type of [...types, 'text/calendar; method=REQUEST ; charset="utf-8"', 'a/b; title="x; y, \'z\'"']) {
    t.equal(validateContentType(type), null, type)
  }
  t.strictSame(parseContentType('Text/HTML;  Charset="utf-8"; format=flowed'), {
    type: 'text/html',
    parameters: [
      { name: 'charset', text: 'Charset="utf-8"' },
      { name: 'format', text: 'format=flowed' },
    ],
  })
})

t.test('validateContentType refuses anything else', async t => {
  const types = ['', 'pdf', 'a/', '/b', 'a/b/c', 'a b/c', 'a/b;', 'a/b; x', 'a/b; x=', 'a/b; x="y', 'a/b, c/d', 'ä/b']
  const parameters = ['x=a b', 'x="a\\"b"', 'x=(c)', 'x*=a', 'x="=?utf-8?Q?a?="', 'x="a  b"', 'boundary=a@b']
  for (const type of [...types, ...parameters.map(parameter => `a/b; ${parameter}`)]) {
    t.equal(validateContentType(type), 'must be a content type such as application/pdf', type)
  }
  for (const hostile of HOSTILE.filter(hostile => hostile !== '/')) {
    for (const type of [`a/b${hostile}`, `a${hostile}/b`, `a/b; x="a${hostile}"`, `a/b;${hostile}x=y`]) {
      t.ok(validateContentType(type), encodeURIComponent(type.toWellFormed()))
    }
  }
  t.match(validateContentType(`a/b; x=${'y'.repeat(MAX_CONTENT_TYPE)}`), /^must have at most /)
})

t.test('validateContentId accepts what is legal in cid: URLs and in angle brackets', async t => {
  for (const id of ['logo', 'logo.png@acme.com', 'a_b-c+d$1', 'ii_k3x%2F', 'x'.repeat(MAX_CONTENT_ID)]) {
    t.equal(validateContentId(id), null, id)
  }
  for (const id of ['', '<logo>', 'a b', 'a"b', 'a,b', 'a:b', 'a;b', 'a(b)', 'ä', '=?x?q?y?=', 'cid:logo', 'a>b']) {
    t.match(validateContentId(id), /must have only/, id)
  }
  for (const hostile of HOSTILE.filter(hostile => hostile !== '/')) {
    for (const id of [hostile, `a${hostile}`, `a${hostile}>\r\nBcc: evil@z.com`])
      t.ok(validateContentId(id), escape(id))
  }
  t.match(validateContentId('x'.repeat(MAX_CONTENT_ID + 1)), /^must have at most /)
})

t.test('validateAttachment names the first invalid field', async t => {
  t.equal(validateAttachment({ filename: 'a.pdf' }), null)
  t.equal(validateAttachment({ filename: 'a.pdf', content_type: null, content_id: null }), null)
  t.strictSame(validateAttachment({ filename: '', content_type: 'x' }), {
    field: 'filename',
    reason: 'must not be empty',
  })
  t.match(validateAttachment({ filename: 'a', content_type: 'x', content_id: '<' }), { field: 'content_type' })
  t.match(validateAttachment({ filename: 'a', content_id: '<' }), { field: 'content_id' })
})
