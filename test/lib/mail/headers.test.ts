import t from 'tap'
import { MAX_HEADER_VALUE, MAX_HEADERS, validateHeader, validateHeaders } from '#lib/mail/headers.ts'

t.test('validateHeader accepts headers that are up to the sender', async t => {
  const names = [
    'X-Entity-Ref-ID',
    'x',
    'X-2',
    'In-Reply-To',
    'References',
    'List-Unsubscribe',
    'List-Unsubscribe-Post',
  ]
  for (const name of [
    ...names,
    'Auto-Submitted',
    'Precedence',
    'Toto',
    'X-To',
    'Received-At',
    'Dates',
    'X-Metadata-user_id',
    'X.a+b',
    'a'.repeat(64),
  ]) {
    t.equal(validateHeader(name, 'value'), null, name)
  }
})

t.test('validateHeader refuses headers that we or receivers write, in any case', async t => {
  const reserved = `From To Cc Bcc Sender Subject Date Message-ID Reply-To MIME-Version Received Return-Path
    DKIM-Signature DKIM-Filter ARC-Seal ARC-Message-Signature ARC-Authentication-Results Authentication-Results
    Content-Type Content-Transfer-Encoding Content-ID Resent-From Resent-Bcc X-Mailbrook-Id`
  for (const name of reserved.split(/\s+/)) {
    for (const written of [name, name.toLowerCase(), name.toUpperCase()]) t.ok(validateHeader(written, 'x'), written)
  }
})

t.test('validateHeader names the field that sets the header', async t => {
  t.equal(validateHeader('reply-to', 'a@b.co'), 'is set by the `reply_to` field')
  t.equal(validateHeader('BCC', 'a@b.co'), 'is set by the `bcc` field')
})

t.test('validateHeader refuses ids and URLs that are too long for a line', async t => {
  const url = `<https://acme.com/${'u'.repeat(970)}>`
  t.equal(validateHeader('List-Unsubscribe', `${url}, ${url}`), null)
  t.equal(
    validateHeader('List-Unsubscribe', `${url}, <${'u'.repeat(990)}>`),
    'contains an id or a URL of more than 990 characters',
  )
  t.ok(validateHeader('List-Unsubscribe', `<https://acme.com/${'ü'.repeat(300)}>`))
  t.equal(validateHeader('References', '<i@b.co>'.repeat(500)), null)
  t.equal(validateHeader('X-Any', 'x'.repeat(2000)), null)
})

t.test('validateHeader refuses invalid names', async t => {
  const names = [
    '',
    ' ',
    'X Y',
    'X:',
    'X-A\r\nBcc',
    'X\n',
    '\nX',
    'X\0',
    'X;',
    'Ünder',
    'a'.repeat(65),
    'Bcc ',
    'X\u2028',
  ]
  for (const name of names) t.match(validateHeader(name, 'x'), /is not a header name/, escape(name))
})

t.test('validateHeader accepts any value of one line', async t => {
  for (const value of ['', ' ', 'a\tb', 'Grüße 👍', '=?utf-8?q?x?=', 'a'.repeat(MAX_HEADER_VALUE)]) {
    t.equal(validateHeader('X-A', value), null)
  }
})

t.test('validateHeader refuses values with line breaks or control characters', async t => {
  const endings = [
    '\r\n',
    '\r',
    '\n',
    '\0',
    '\u000b',
    '\u000c',
    '\u001b',
    '\u007f',
    '\u0085',
    '\u009f',
    '\u2028',
    '\u2029',
  ]
  for (const ending of endings) {
    for (const value of [ending, `a${ending}`, `${ending}a`, `a${ending}Bcc: evil@z.com`]) {
      t.equal(validateHeader('X-A', value), 'contains a line break or control character', escape(value))
    }
  }
  t.equal(validateHeader('X-A', 'a'.repeat(MAX_HEADER_VALUE + 1)), 'is longer than 8,000 characters')
})

t.test('validateHeaders returns the first refused header', async t => {
  t.equal(validateHeaders({}), null)
  t.equal(validateHeaders({ 'X-A': '1', 'X-B': '2' }), null)
  t.strictSame(validateHeaders({ 'X-A': '1', Date: 'now', To: 'x' }), { name: 'Date', reason: 'is reserved' })
})

t.test('validateHeaders refuses names that differ only by case', async t => {
  t.strictSame(validateHeaders({ 'X-A': '1', 'x-a': '1' }), { name: 'x-a', reason: 'is given twice' })
  t.strictSame(validateHeaders({ 'x-b': '1', 'X-B': '2' }), { name: 'X-B', reason: 'is given twice' })
})

t.test('validateHeaders accepts at most 100 headers', async t => {
  const headers = Object.fromEntries(Array.from({ length: MAX_HEADERS }, (_, i) => [`X-${i}`, 'x']))
  t.equal(validateHeaders(headers), null)
  t.match(validateHeaders({ ...headers, 'X-Last': 'x' }), { name: 'X-Last', reason: /100/ })
})
