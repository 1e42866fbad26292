import PostalMime, { decodeWords } from 'postal-mime'
import t from 'tap'
import { composeMessage, type Message, serializeMessage } from '#lib/mail/message.ts'
import { plainMail as mail } from '#test/support/mail/attachments.ts'

const source = (change: Partial<Message>) => serializeMessage(composeMessage({ ...mail, ...change })).toString('latin1')
const raw = (change: Partial<Message>, name: string) =>
  composeMessage({ ...mail, ...change }).fields.find(field => field.name === name)?.raw

/** The names of the fields as the most lenient parser finds them. */
const namesIn = (message: string) =>
  (message.split('\r\n\r\n')[0] ?? '')
    .split(/\r\n|\r|\n/)
    .filter(line => !/^[\t ]/.test(line))
    .map(line => line.split(':')[0])
const plainNames = 'From To Subject Date Message-ID MIME-Version Content-Type Content-Transfer-Encoding'
const namesWithCustom = plainNames.replace('MIME', 'X-A MIME').split(' ')

t.test('a plain message is composed to exactly these bytes', async t => {
  t.same(source({}).split('\r\n'), [
    'From: Acme <news@example.com>',
    'To: ann@example.org',
    'Subject: Hello',
    'Date: Sun, 01 Nov 2026 09:05:07 +0000',
    'Message-ID: <0190b2c4@mail.example.com>',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: base64',
    '',
    'SGk=',
    '',
  ])
})

t.test('the boundary depends on the seed, and all bytes on the message alone', async t => {
  const both = { text: 'Hi', html: '<p>Hi</p>' }
  t.equal(source(both), source(both))
  t.not(source(both), source({ ...both, seed: 'another' }))
})

t.test('blank html is left out, since mail clients would show it in place of the text', async t => {
  for (const html of ['', ' \n']) {
    const blank = source({ text: 'Hi', html })
    t.match(blank, /Content-Type: text\/plain.*SGk=/s)
    t.notMatch(blank, /multipart|text\/html/, JSON.stringify(html))
  }
})

t.test('text comes before html, a single part is not multipart, and no part is an empty text', async t => {
  t.match(source({ html: '<p>Hi</p>' }), /multipart\/alternative.*text\/plain.*SGk=.*text\/html.*PHA\+SGk8L3A\+/s)
  t.notMatch(source({ text: null, html: '<p>Hi</p>' }), /multipart|text\/plain/)
  t.match(source({ text: null }), /text\/plain.*base64\r\n\r\n\r\n$/s)
  t.notMatch(source({ text: 'x'.repeat(999), html: 'ö'.repeat(999) }), /.{77}/)
})

t.test('every kind of line break in a body becomes CRLF before it is encoded', async t => {
  const { body } = composeMessage({ ...mail, text: 'a\nb\r\nc\rd\n\r\n.' })
  t.equal(Buffer.from(body.toString(), 'base64').toString(), 'a\r\nb\r\nc\r\nd\r\n\r\n.')
})

t.test('a display name is quoted if needed, and encoded if quoting is not enough', async t => {
  const from = (name: string) => raw({ from: { name, address: 'a@b.co' } }, 'From')
  t.equal(from("Zoe O'Neil"), "From: Zoe O'Neil <a@b.co>")
  t.equal(from('Acme, "Inc\\"'), 'From: "Acme, \\"Inc\\\\\\"" <a@b.co>')
  t.equal(from('Zoë'), 'From: =?utf-8?B?Wm/Dqw==?= <a@b.co>')
  t.match(from('=?utf-8?Q?x?='), /^From: =\?utf-8\?B\?PT91/)
  t.match(from(' two  spaces '), /^From: =\?utf-8\?B\?/)
  t.equal(from(''), 'From: a@b.co')
  t.equal(raw({ to: [{ name: null, address: '"a, b"@b.co' }] }, 'To'), 'To: <"a, b"@b.co>')
})

t.test('Cc and Reply-To are written only if given, and override a custom Reply-To', async t => {
  const someone = [{ name: null, address: 'c@example.org' }]
  t.equal(raw({ cc: someone, reply_to: someone }, 'Cc'), 'Cc: c@example.org')
  t.equal(raw({ reply_to: someone, headers: { 'reply-to': 'x@y.zz' } }, 'reply-to'), undefined)
  t.equal(raw({ headers: { 'reply-to': 'x@y.zz' } }, 'reply-to'), 'reply-to: x@y.zz')
})

t.test('long address lists are folded between mailboxes at 78 characters', async t => {
  const to = Array.from({ length: 60 }, (_, i) => ({ name: `Person, ${i}`, address: `person${i}@example.org` }))
  const message = source({ to })
  t.notMatch(message, /.{79}/)
  t.same((await PostalMime.parse(message)).to, to)
})

t.test('encoded words split between characters and stay within their line', async t => {
  const subject = '👩‍🚀日本語ü'.repeat(40)
  const lines = raw({ subject }, 'Subject')?.split('\r\n ') ?? []
  t.ok(lines.length > 10 && lines.every(line => line.length <= 75))
  t.equal(lines.map(line => decodeWords(line.replace('Subject: ', ''))).join(''), subject)
})

t.test('a subject arrives unchanged, with spaces, long words and text like encoded words', async t => {
  const subjects = 'see =?utf-8?B?eHh4?= there| a  b |=?|tab\tbed|größer|plain'.split('|')
  for (const subject of [...subjects, 'x'.repeat(2000), 'w '.repeat(600)]) {
    t.equal((await PostalMime.parse(source({ subject }))).subject, subject)
  }
  t.equal(raw({ subject: '' }, 'Subject'), 'Subject:')
  t.equal(raw({ subject: 'a'.repeat(67) }, 'Subject'), `Subject: ${'a'.repeat(67)}`)
  t.notMatch(
    raw({ subject: `${'a'.repeat(70)} b` }, 'Subject'),
    /^Subject:\r\n/,
    'Python would keep the space of this fold',
  )
})

t.test('a custom header is sent unchanged, folded only at its own spaces', async t => {
  const url = `<https://example.com/${'u'.repeat(900)}>`
  const header = (value: string) => raw({ headers: { 'List-Unsubscribe': value } }, 'List-Unsubscribe')
  t.equal(header(`${url}, <mailto:u@example.com>`), `List-Unsubscribe: ${url},\r\n <mailto:u@example.com>`)
  t.equal(header('=?utf-8?B?eHh4?= y'), 'List-Unsubscribe: =?utf-8?B?eHh4?= y')
  t.equal(header(`a ${'b'.repeat(75)}   c`), `List-Unsubscribe: a\r\n ${'b'.repeat(75)}  \r\n c`)
  t.equal(header(' a  b\t '), 'List-Unsubscribe: a  b')
  t.equal(header(' '), 'List-Unsubscribe:')
  t.equal(raw({ headers: { "X_a!'9<~": 'x' } }, "X_a!'9<~"), "X_a!'9<~: x")
})

t.test('a custom header with several values becomes several fields', async t => {
  const fields = composeMessage({ ...mail, headers: { Comments: ['one', 'two\r\nBcc: x'], 'X-A': [] } }).fields
  t.same(
    fields.filter(({ name }) => !plainNames.split(' ').includes(name)).map(field => field.raw),
    ['Comments: one', 'Comments: two Bcc: x'],
  )
})

t.test('a message without visible recipients says undisclosed-recipients, unless it has a Cc', async t => {
  t.equal(raw({ to: [] }, 'To'), 'To: undisclosed-recipients:;')
  t.equal(raw({ to: [], cc: [{ name: null, address: 'a@b.co' }] }, 'To'), undefined)
})

t.test('a custom header is encoded if it is not ASCII or has too long a word', async t => {
  for (const value of [`<https://example.com/${'u'.repeat(2000)}>`, 'größer  als']) {
    const message = source({ headers: { 'X-Long': value } })
    t.notMatch(message, /.{79}/)
    t.equal(decodeWords((await PostalMime.parse(message)).headers.find(h => h.key === 'x-long')?.value ?? ''), value)
  }
})

t.test('ids, URLs and addresses in custom headers are never encoded words', async t => {
  const header = (name: string, value: string) => raw({ headers: { [name]: value } }, name)
  const unsubscribe = (value: string) => header('List-Unsubscribe', value)
  t.equal(unsubscribe('<https://acme.com/jörg?a=1%2F2>'), 'List-Unsubscribe: <https://acme.com/j%C3%B6rg?a=1%2F2>')
  t.equal(
    unsubscribe('<https://bücher.de/ü>, <mailto:a@b.co?subject=schlußmit>'),
    'List-Unsubscribe: <https://xn--bcher-kva.de/%C3%BC>,\r\n <mailto:a@b.co?subject=schlu%C3%9Fmit>',
  )
  t.equal(unsubscribe('</größe> (Ende)'), 'List-Unsubscribe: </gr%C3%B6%C3%9Fe> (Ende)')
  const spaced = '<https://acme.com/u>,\u00a0<mailto:u@b.co>\ufeff, <mailto:ü@b.co>'
  t.equal(unsubscribe(spaced), 'List-Unsubscribe: <https://acme.com/u>, <mailto:u@b.co> ,\r\n <mailto:%C3%BC@b.co>')
  t.equal(header('References', '<1@b.co>\u00a0<2@b.co>'), 'References: <1@b.co> <2@b.co>')
  t.equal(unsubscribe(`<https://b.co/${'ü'.repeat(300)}>`), undefined, 'too long for a line')
  t.equal(header('References', '<1@b.co> <zwölf@b.co>  <3@b.co>'), 'References: <1@b.co> <3@b.co>')
  t.equal(header('In-Reply-To', '<zwölf@b.co>'), undefined)
  const ids = Array.from({ length: 50 }, (_, n) => `<${'i'.repeat(30)}${n}@b.co>`)
  t.equal(header('References', ids.join(''))?.replaceAll('\r\n', ''), `References: ${ids.join(' ')}`)
  t.equal(
    header('List-ID', '"Bücher" <liste.bücher.de>'),
    `List-ID: =?utf-8?B?${Buffer.from('Bücher').toString('base64')}?= <liste.xn--bcher-kva.de>`,
  )
  t.match(header('Disposition-Notification-To', 'Jörg <a@b.co>'), /\?= <a@b\.co>$/)
})

t.test('a custom header never replaces or repeats one of our fields', async t => {
  const ours = 'Bcc from TO cc Subject DATE message-id Content-Type DKIM-Signature MIME-Version'.split(' ')
  const headers = Object.fromEntries([...ours, 'X-A'].map(name => [name, 'x']))
  t.same(namesIn(source({ headers })), namesWithCustom)
})

const breaks = '\r\n|\n|\r|\r\n\r\n|\n\n|\n\r|\r\n |\r\n\t| \r\n|\r\r\n|\0\r\n|"\r\n|,\r\n|>\r\n|\ud800\r\n'.split('|')
const controls = '\0|\u0085|\u2028|\u2029|\v|\f|\x1b|\x1c|\x7f|\u010d\u010a|\u560d\u560a'.split('|')
const encodings = '%0d%0a|\\r\\n|=0D=0A|=?utf-8?Q?=0D=0A?=|=?utf-8?B?DQo=?=|&#13;&#10;'.split('|')

t.test('subjects, names and header values cannot inject header lines', async t => {
  for (const end of [...breaks, ...controls, ...encodings, `${'x'.repeat(2000)}\r\n`]) {
    const hostile = `a${end}Bcc: evil@example.net${end}${end}body`
    const mailbox = { name: hostile, address: 'a@b.co' }
    const message = source({ subject: hostile, from: mailbox, to: [mailbox, mailbox], headers: { 'X-A': hostile } })
    t.same(namesIn(message), namesWithCustom, `with ${encodeURIComponent(end.toWellFormed().slice(-20))}`)
    t.notMatch(message, /[^\t\r\n -~]|\r(?!\n)|(?<!\r)\n|[^\r\n]{999}/)
    const { subject, from } = await PostalMime.parse(message)
    t.notMatch(`${subject}${from?.name}`, /[\r\n\0]/, 'nor would it when decoded')
  }
})

t.test('composeMessage throws for ids, addresses and header names that were not validated', async t => {
  for (const end of [...breaks.slice(0, 6), 'ö', 'x'.repeat(1000)]) {
    const hostile = `a${end}Bcc: evil@example.net`
    t.throws(() => source({ message_id: hostile }), TypeError)
    t.throws(() => source({ to: [{ name: null, address: hostile }] }), TypeError)
    t.throws(() => source({ headers: { [hostile]: 'x' } }), TypeError)
  }
  for (const name of ['', ' ', 'X A', 'X:A', 'X;A', 'Xü', 'x'.repeat(65)]) {
    t.throws(() => source({ headers: { [name]: 'x' } }), TypeError)
  }
})
