import t from 'tap'
import { ApiError } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { NewEmail } from '#lib/sending/new_email.ts'

const email = { from: 'a@b.com', to: ['c@d.com'], subject: 'Hi' }

/** The error of an email with these fields, name and message, or null if it is valid. */
function refusal(fields: object): string | null {
  try {
    parse(NewEmail, { ...email, ...fields })
    return null
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return `${error.name} ${error.message}`
  }
}

const form = '`email@domain` or `Name <email@domain>`'

t.test('a missing field is named before an invalid one', async t => {
  t.equal(refusal({ from: undefined, to: undefined }), 'missing_required_field Missing `from` field.')
  t.equal(refusal({ to: undefined }), 'missing_required_field Missing `to` field.')
  t.equal(refusal({ from: 'x', headers: 1, subject: undefined }), 'missing_required_field Missing `subject` field.')
  t.equal(refusal({ tags: [{ name: 'a' }] }), 'missing_required_field Missing `tags[0].value` field.')
})

t.test('a field of the wrong type is invalid, not missing', async t => {
  for (const [field, values] of Object.entries({
    from: [null, 1, true, [], ['a@b.com'], {}, { address: 'a@b.com' }],
    to: [null, 1, {}, [1], [null], [['c@d.com']], [{ address: 'c@d.com' }]],
    cc: [1, {}, [null]],
    bcc: [true, [1]],
    reply_to: [1, {}, [null]],
    subject: [null, 1, [], {}],
    html: [1, [], {}],
    text: [false, {}],
    headers: [1, 'X: y', [], [['X', 'y']], { X: 1 }, { X: null }, { X: ['y'] }, { X: { prepared: true, value: 'y' } }],
    tags: [1, {}, 'a', [1], [{ name: 1, value: 'a' }], [{ name: 'a', value: null }], [['a', 'b']]],
  })) {
    for (const value of values) {
      t.match(refusal({ [field]: value }), `validation_error \`${field}`, `${field}: ${JSON.stringify(value)}`)
    }
  }
})

t.test('a body that is not an object is invalid', async t => {
  for (const body of [undefined, null, 1, 'a', [], [email]]) {
    t.throws(() => parse(NewEmail, body), { name: 'validation_error', message: /^The body must be an object\.$/ })
  }
})

t.test('address fields refuse anything but one mailbox, and name the field', async t => {
  for (const text of [
    ...['', ' ', 'a', '@', 'a@', '@b.com', 'a@b', 'a b@c.com', 'a@b.com,c@d.com', 'a@b.com;c@d.com', 'a@b.com c@d.com'],
    ...['<a@b.com', 'a@b.com>', 'A <a@b.com> x', 'a@[127.0.0.1]', 'a@127.0.0.1', 'a@b..com', 'a@-b.com', '.a@b.com'],
    ...['a@b.com\r\nBcc: e@e.com', 'a@b.com\n', 'a\0@b.com', 'A\r\nTo: x <a@b.com>', 'a@b.com\u2028', 'a@b.com\u0085'],
    ...['b@y.com> <evil@z.com', 'b@y.com> ORCPT=x <evil@z.com', '=?utf-8?q?a?= <a@b.com>', 'g: a@b.com;', '"a"b@c.com'],
    ...[`${'a'.repeat(65)}@b.com`, `a@${'b'.repeat(250)}.com`, 'x'.repeat(100_000)],
  ]) {
    const shown = encodeURIComponent(text.slice(0, 30))
    t.match(refusal({ from: text }), `invalid_from_address \`from\` must be ${form}, not "`, shown)
    for (const field of ['to', 'cc', 'bcc']) {
      const named = (place: string) => `invalid_to_address \`${place}\` must be ${form}, not "`
      t.match(refusal({ [field]: text }), named(field), shown)
      t.match(refusal({ [field]: ['e@f.com', text] }), named(`${field}[1]`), shown)
    }
    t.match(refusal({ reply_to: text }), 'validation_error `reply_to', shown)
  }
  const turned = 'must not have a character that changes the direction of text.'
  t.equal(refusal({ to: ['e@f.com', 'a@b.com\u202e'] }), `invalid_to_address \`to[1]\` ${turned}`)
})

t.test('an error quotes at most 100 characters of the value', async t => {
  t.equal(refusal({ to: 'x'.repeat(5_000) }), `invalid_to_address \`to\` must be ${form}, not "${'x'.repeat(100)}…".`)
})

t.test('lists hold at most 50 addresses, 100 headers and 50 tags', async t => {
  const many = <T>(count: number, one: (i: number) => T) => Array.from({ length: count }, (_, i) => one(i))
  const headers = (count: number) => Object.fromEntries(many(count, i => [`X-${i}`, '']))
  const tag = () => ({ name: 'a', value: 'b' })
  for (const field of ['to', 'cc', 'bcc', 'reply_to']) {
    t.equal(refusal({ [field]: many(50, i => `a${i}@b.com`) }), null)
    t.equal(
      refusal({ [field]: many(51, () => 1) }),
      `validation_error \`${field}\` must have ${field === 'to' ? '1 to' : 'at most'} 50 addresses.`,
    )
  }
  t.equal(refusal({ headers: headers(100), tags: many(50, tag) }), null)
  t.equal(refusal({ headers: headers(101) }), 'validation_error `headers` must have at most 100 headers.')
  t.equal(refusal({ tags: many(51, tag) }), 'validation_error `tags` must have at most 50 tags.')
  t.equal(refusal({ to: [] }), 'validation_error `to` must have 1 to 50 addresses.')
})

t.test('a subject is one line of at most 998 characters', async t => {
  t.equal(refusal({ subject: '' }), null)
  t.equal(refusal({ subject: 'é'.repeat(998) }), null)
  t.match(refusal({ subject: 'x'.repeat(999) }), /^validation_error `subject` must have at most 998 characters\.$/)
  for (const subject of ['a\r\nBcc: e@e.com', 'a\n', '\rb', 'a\r\n b']) {
    t.equal(refusal({ subject }), 'validation_error `subject` must be one line.')
  }
})

t.test('track_opens and track_clicks are true, false or null', async t => {
  for (const field of ['track_opens', 'track_clicks', 'trackOpens', 'trackClicks']) {
    for (const given of [true, false, null]) t.equal(refusal({ [field]: given }), null)
    const name = `validation_error \`${field}`
    for (const wrong of ['true', 1, 0, {}]) t.match(refusal({ [field]: wrong }), name, JSON.stringify(wrong))
  }
})

t.test('headers that we write, or that would break the message, are refused', async t => {
  for (const name of [
    ...['From', 'to', 'CC', 'Bcc', 'Reply-To', 'Subject', 'Sender', 'Date', 'Message-ID', 'MIME-Version', 'Received'],
    ...['Return-Path', 'DKIM-Signature', 'Content-Type', 'content-transfer-encoding', 'ARC-Seal', 'Resent-To'],
    ...['Authentication-Results', '', ' ', 'X Y', 'X:', 'X\r\nBcc', 'X\n', 'Ж', 'x'.repeat(65), '__proto__'],
  ]) {
    const headers = JSON.parse(`{"X-Fine":"y",${JSON.stringify(name)}:"z"}`)
    t.match(refusal({ headers }), 'validation_error `headers` ', encodeURIComponent(name))
  }
  const breaks = ['a\r\nBcc: e@e.com', 'a\r\n b', 'a\n', '\r', 'a\0', 'a\u2028b', 'a\u2029', 'a\u0085', '\x1b[0m']
  for (const value of [...breaks, 'x'.repeat(8_001)]) {
    const refused = refusal({ headers: { 'X-Y': value } })
    t.match(refused, 'validation_error `headers` has "X-Y", which ', encodeURIComponent(value.slice(0, 20)))
  }
  t.match(refusal({ headers: { 'X-Y': 'a', 'x-y': 'b' } }), /given twice/)
  t.equal(refusal({ headers: { 'X-Y': 'a\tb é 🎉', 'In-Reply-To': '<a@b.com>', constructor: 'x' } }), null)
})

t.test('from and subject are optional only with a template, and html and text must be absent', async t => {
  const id = '01890000-0000-7000-8000-000000000000'
  for (const named of [
    { template_id: id },
    { template_id: 'welcome' },
    { template: { id } },
    { template: { alias: 'a' } },
  ]) {
    t.equal(refusal({ from: undefined, subject: undefined, ...named }), null)
    t.equal(refusal({ from: null, subject: null, html: null, text: null, ...named }), null)
    t.match(refusal({ from: 'x', ...named }), /^invalid_from_address/)
    t.equal(refusal({ to: undefined, from: undefined, ...named }), 'missing_required_field Missing `to` field.')
    for (const field of ['html', 'text']) {
      const other = Object.keys(named)[0]
      const message = `validation_error \`${field}\` cannot be combined with \`${other}\`.`
      t.equal(refusal({ [field]: '', ...named }), message)
    }
  }
  const both = { template_id: 'a', template: { id: 'a' } }
  t.equal(refusal(both), 'validation_error `template` cannot be combined with `template_id`.')
  t.match(
    refusal({ template_id: null, template: null, from: undefined }),
    'missing_required_field Missing `from` field.',
  )
})

t.test('a template is given once, by id or alias', async t => {
  for (const ref of ['', 'A', 'a b', '-a', 'é', 'a'.repeat(65), 1, {}, [], '../a', 'a\n']) {
    t.match(refusal({ template_id: ref, from: undefined }), /^validation_error `template_id` must/, String(ref))
    t.match(refusal({ template: { id: ref } }), /^validation_error `template/)
    t.match(refusal({ template: { alias: ref } }), /^validation_error `template/)
  }
  for (const template of ['a', 1, [], { id: 'a', alias: 'a' }]) {
    t.match(refusal({ template }), /^validation_error `template` must/, JSON.stringify(template))
  }
  for (const template of [{}, { id: null }, { variables: {} }]) {
    const missing = 'missing_required_field Missing `template.id` or `template.alias` field.'
    t.equal(refusal({ template }), missing, JSON.stringify(template))
  }
  t.match(refusal({ template: { alias: '01890000-0000-7000-8000-000000000000' } }), /template.alias/)
})

t.test('variables are strings and numbers with keys that are not reserved', async t => {
  const key = (name: string) => JSON.parse(`{${JSON.stringify(name)}:"x"}`)
  for (const wrong of [
    ...[1, 'a', [], ['a'], { a: null }, { a: true }, { a: [] }, { a: { b: 1 } }, { a: 'x'.repeat(2_001) }],
    ...[{ a: 2 ** 53 }, { a: -(2 ** 53) }, { a: Number.POSITIVE_INFINITY }],
    ...['', 'a b', 'a.b', 'a-b', 'é', 'a'.repeat(51), 'a\n', 'FIRST_NAME', 'EMAIL', 'this', 'contact', '__proto__'].map(
      key,
    ),
    Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`a${i}`, i])),
  ]) {
    const shown = JSON.stringify(wrong).slice(0, 60)
    t.match(refusal({ variables: wrong }), /^validation_error `variables/, shown)
    t.match(refusal({ template: { id: 'a', variables: wrong } }), /^validation_error `template.variables/, shown)
  }
  const fine = {
    a: 'x'.repeat(2_000),
    b: 2 ** 53 - 1,
    c: -1.5,
    constructor: '',
    first_name: 'Ann',
    toString: 0,
    [`_${'9'.repeat(49)}`]: 1,
  }
  t.equal(refusal({ variables: fine, template: { id: 'a', variables: fine } }), null)
})

t.test('tags consist of letters, digits, _ and -', async t => {
  for (const word of ['', 'a b', 'é', 'a.b', 'a'.repeat(257), 'a\n']) {
    t.match(refusal({ tags: [{ name: word, value: 'a' }] }), /^validation_error `tags\[0\]\.name` must/)
    t.match(refusal({ tags: [{ name: 'a', value: word }] }), /^validation_error `tags\[0\]\.value` must/)
  }
  t.equal(refusal({ tags: [{ name: 'a'.repeat(256), value: 'A_b-9', more: 1 }] }), null)
})
