import { CHARSETS } from './received_charsets.ts'

export type ExpectedFile = { filename: string | null; content_type: string; disposition?: string; content?: string }

/** How a reader should see a message. Omitted fields may be anything. */
export type Expected = {
  from?: { name: string; address: string } | null
  to?: string[]
  subject?: string
  message_id?: string | null
  headers?: Record<string, string>
  text?: string | null
  html?: string | null
  files?: ExpectedFile[]
}

export type ReceivedMessage = { name: string; raw: Buffer; expected: Expected }

type Entity = { headers: string[]; body: string }

const FROM = 'From: Ann <ann@y.com>'
const TO = 'To: me@acme.com'
const HEAD = [FROM, TO, 'Subject: Hello', 'Message-ID: <1@y.com>', 'Date: Tue, 1 Jul 2025 10:00:00 +0200']
const PLAIN = 'Content-Type: text/plain; charset=utf-8'
const HTML = 'Content-Type: text/html; charset=utf-8'
const PNG = Buffer.from('89504e470d0a1a0a0000000d', 'hex')

/** Messages as written: every character of these texts is one byte. */
const bytes = (text: string): string => Buffer.from(text).toString('latin1')
const base64 = (content: string | Buffer): string =>
  Buffer.from(content as string)
    .toString('base64')
    .replace(/.{76}/g, '$&\r\n')
const quoted = (octets: string, all = false): string =>
  octets.replace(all ? /[^\w]/g : /[^\t\r\n -<>-~]/g, c => `=${hexOf(c)}`)
const hexOf = (c: string): string => c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')

function write({ headers, body }: Entity, end = '\r\n'): Buffer {
  const text = [...headers, '', body].join('\r\n')
  return Buffer.from(end === '\r\n' ? text : text.replaceAll('\r\n', end), 'latin1')
}

function part(headers: string[], body: string): Entity {
  return { headers, body }
}

/** Each message needs a different `boundary`. */
function multi(subtype: string, parts: Entity[], boundary = `b-${subtype.replace(/\W.*/, '')}`): Entity {
  const inner = parts.map(({ headers, body }) => [`--${boundary}`, ...headers, '', body].join('\r\n'))
  return {
    headers: [`Content-Type: multipart/${subtype}; boundary="${boundary}"`],
    body: [...inner, `--${boundary}--`, ''].join('\r\n'),
  }
}

function topped(entity: Entity, head: string[] = HEAD): Entity {
  return { headers: [...head, 'MIME-Version: 1.0', ...entity.headers], body: entity.body }
}

function file(filename: string, content_type: string, content: string | Buffer, disposition = 'attachment'): Entity {
  return part(
    [
      `Content-Type: ${content_type}; name="${filename}"`,
      `Content-Disposition: ${disposition}; filename="${filename}"`,
      'Content-Transfer-Encoding: base64',
    ],
    base64(content),
  )
}

const text = (body: string, headers: string[] = []): Entity => part([PLAIN, ...headers], bytes(body))
const html = (body: string, headers: string[] = []): Entity => part([HTML, ...headers], bytes(body))
const inline = (cid: string): Entity =>
  part(
    [
      'Content-Type: image/png',
      `Content-ID: <${cid}>`,
      'Content-Disposition: inline',
      'Content-Transfer-Encoding: base64',
    ],
    base64(PNG),
  )

/** One of each kind, well-formed and broken, as seen in real mail. */
export function listReceivedMessages(): ReceivedMessage[] {
  const messages: ReceivedMessage[] = []
  const add = (name: string, entity: Entity | Buffer, expected: Expected) =>
    messages.push({ name, raw: Buffer.isBuffer(entity) ? entity : write(entity), expected })
  addCharsets(add)
  addHeaders(add)
  addRawWords(add)
  addTrees(add)
  addSpecial(add)
  addBroken(add)
  return messages
}

type Add = (name: string, entity: Entity | Buffer, expected: Expected) => void

function addCharsets(add: Add): void {
  for (const [charset, said, hex] of CHARSETS) {
    const octets = Buffer.from(hex, 'hex').toString('latin1')
    const word = `=?${charset}?B?${Buffer.from(hex, 'hex').toString('base64')}?=`
    const typed = (encoding: string) => [
      `Content-Type: text/plain; charset="${charset}"`,
      `Content-Transfer-Encoding: ${encoding}`,
    ]
    const subject = [FROM, TO, `Subject: ${word}`]
    add(`${charset} in base64`, topped(part(typed('base64'), base64(Buffer.from(hex, 'hex'))), subject), {
      subject: said,
      text: said,
    })
    const q = `=?${charset.toUpperCase()}?Q?${quoted(octets, true)}?=`
    const heads = [`From: ${q} <ann@y.com>`, TO]
    add(`${charset} in quoted-printable`, topped(part(typed('quoted-printable'), quoted(octets)), heads), {
      from: { name: said, address: 'ann@y.com' },
      text: said,
    })
    if (!/utf-16|utf-7/.test(charset)) {
      const html = `<meta http-equiv="Content-Type" content="text/html; charset=${charset}"><p>${octets}`
      const shown = { html: html.replace(octets, () => said) }
      add(`${charset} named in HTML alone`, topped(part(['Content-Type: text/html'], html)), shown)
      add(`${charset} named in HTML, not utf-8`, topped(part([HTML], html)), shown)
    }
    if (!/utf-16|utf-7/.test(charset)) add(`${charset} in 8 bits`, topped(part(typed('8bit'), octets)), { text: said })
    const named = [
      ...typed('base64'),
      `Content-Disposition: attachment; filename*=${charset}''${octets.replace(/\W/g, c => `%${hexOf(c)}`)}`,
    ]
    add(`a file named in ${charset}`, topped(multi('mixed', [text('x'), part(named, 'YQ==')])), {
      files: [{ filename: said.replace('/', '_'), content_type: 'text/plain', content: 'a' }],
    })
  }
}

function addHeaders(add: Add): void {
  const body = text('Hello')
  const subject = (name: string, line: string, expected: string) =>
    add(name, topped(body, [FROM, TO, line]), { subject: expected, text: 'Hello' })
  const euro = Buffer.from('a€b').toString('base64')
  const [first, second] = [Buffer.from('€').subarray(0, 2), Buffer.from('€').subarray(2)]
  subject(
    'words broken in a character',
    `Subject: =?utf-8?B?${first.toString('base64')}?=\r\n =?utf-8?B?${second.toString('base64')}?=`,
    '€',
  )
  subject('words in Q broken in a character', 'Subject: =?utf-8?Q?a=E2=82?= =?utf-8?Q?=ACb?=', 'a€b')
  subject('words of two charsets', 'Subject: =?iso-8859-1?Q?=E9?= =?utf-8?Q?=C3=A9?=', 'éé')
  subject('a word of an unknown charset', 'Subject: =?x-unknown?Q?abc?=', 'abc')
  subject('words with a language', `Subject: =?utf-8*en?B?${euro}?= x`, 'a€b x')
  subject('a word within words', `Subject: Re: =?utf-8?B?${euro}?= (2)`, 'Re: a€b (2)')
  subject('a word with spaces in it', 'Subject: =?utf-8?Q?a b?=', 'a b')
  subject('folded', 'Subject: one\r\n two\r\n\tthree', 'one two three')
  subject('raw utf-8', `Subject: ${bytes('Grüße 👋')}`, 'Grüße 👋')
  subject('raw latin-1', 'Subject: Gr\xfc\xdfe', 'Grüße')
  subject('raw utf-8 that was cut', `Subject: ${bytes('Привет').slice(0, -1)}`, 'Приве\ufffd')
  subject('no subject', 'X: y', '')
  subject('an empty subject', 'Subject:', '')
  subject('no space after the colon', 'Subject:tight', 'tight')
  subject('two subjects', 'Subject: first\r\nSubject: second', 'first')
  subject('a subject of 100 KB', `Subject: ${'long '.repeat(20_000)}`.trimEnd(), 'long '.repeat(20_000).trimEnd())
  const from = (name: string, line: string, expected: Expected['from'], more: Expected = {}) =>
    add(name, topped(body, [line, TO]), { from: expected, text: 'Hello', ...more })
  from('a quoted name', 'From: "Doe, \\"Jane\\"" <j@y.com>', { name: 'Doe, "Jane"', address: 'j@y.com' })
  from('a name that is an address', 'From: "a@evil.com" <j@y.com>', { name: 'a@evil.com', address: 'j@y.com' })
  from('a comment as name', 'From: j@y.com (Jane)', { name: 'Jane', address: 'j@y.com' })
  from('an address alone', 'From: j@y.com', { name: '', address: 'j@y.com' })
  from('an encoded name with a comma', 'From: =?utf-8?Q?Doe=2C_Jane?= <j@y.com>', {
    name: 'Doe, Jane',
    address: 'j@y.com',
  })
  from('an encoded address in a name', 'From: =?utf-8?B?PGFAZXZpbC5jb20+?= <j@y.com>', {
    name: '<a@evil.com>',
    address: 'j@y.com',
  })
  from('words in quotes', `From: "=?utf-8?B?${euro}?=" <j@y.com>`, { name: 'a€b', address: 'j@y.com' })
  from('a raw latin-1 name', 'From: J\xf6rg <j@y.com>', { name: 'Jörg', address: 'j@y.com' })
  const domains = {
    'a domain in punycode': ['j@xn--bcher-kva.de', 'j@xn--bcher-kva.de'],
    'a label in punycode': ['j@mail.xn--bcher-kva.de', 'j@mail.xn--bcher-kva.de'],
    'a domain in Unicode': [bytes('jö@Bücher.de'), 'jö@xn--bcher-kva.de'],
    'full-width letters': [bytes('j@ａ.de'), 'j@ａ.de'],
    'full-width letters in punycode': ['j@xn--1c7h.de', 'j@xn--1c7h.de'],
  }
  for (const [name, [written, address = '']] of Object.entries(domains)) {
    from(name, `From: J <${written}>`, { name: 'J', address })
  }
  from('no from', 'X: y', null)
  from('a comment in a comment', 'From: ann@y.com (Ann (Sales, EU) Lee)', {
    name: 'Ann [Sales, EU] Lee',
    address: 'ann@y.com',
  })
  from('a comment before', 'From: (x (y) z) ann@y.com', { name: 'x [y] z', address: 'ann@y.com' })
  from('a route', 'From: Ann <@a.com,@b.com:ann@y.com>', { name: 'Ann', address: 'ann@y.com' })
  from('spaces around the marks', 'From: Ann < ann . lee @ y . com >', { name: 'Ann', address: 'ann.lee@y.com' })
  from('a quoted space', 'From: Ann <"ann @ lee"@y.com>', { name: 'Ann', address: '"ann @ lee"@y.com' })
  const written: [field: string, message_id: string | null][] = [
    ['<a@y.com> (added by mx.y.com)', '<a@y.com> (added by mx.y.com)'],
    ['a-number', 'a-number'],
    ['\r\n <folded@y.com>\r\nMessage-ID: <second@y.com>', '<folded@y.com>'],
    ['', null],
  ]
  for (const [field, message_id] of written) {
    add(`a Message-ID of ${field}`, topped(body, [FROM, `Message-ID: ${field}`]), { message_id })
  }
  add('no header at all', Buffer.from('\r\nHello'), { message_id: null, headers: {}, text: 'Hello' })
  add('a group and many', topped(body, [FROM, 'To: Team: a@y.com, B <b@y.com>;, "c, d" <c@y.com>, e@y.com']), {
    to: ['a@y.com', 'b@y.com', 'c@y.com', 'e@y.com'],
  })
  const marks = 'To: "T; 1": "A; a" <a@y.com>, (b; 2)\r\n b@y.com, "C: \\"c\\"; c" <c@y.com>;, D: d@y.com'
  add('semicolons and colons in groups', topped(body, [FROM, marks]), {
    to: ['a@y.com', 'b@y.com', 'c@y.com', 'd@y.com'],
  })
  add('undisclosed', topped(body, [FROM, 'To: undisclosed-recipients:;']), { to: [] })
  add('two to headers', topped(body, [FROM, 'To: a@y.com', 'To: b@y.com']), { to: ['a@y.com', 'b@y.com'] })
  add('names in lower and upper case', topped(body, ['FROM: Ann <ann@y.com>', 'to: me@acme.com', 'SUBJECT: x']), {
    ...{ from: { name: 'Ann', address: 'ann@y.com' }, to: ['me@acme.com'], subject: 'x' },
  })
}

/** 8-bit bytes inside encoded words, which RFC 2047 2 forbids, in the charsets of senders that do so. */
function addRawWords(add: Add): void {
  const words: [charset: string, octets: string, expected: string][] = [
    ['iso-8859-1', 'caf\xe9_au lait', 'café au lait'],
    ['iso-8859-2', '\xb1\xe6=B1', 'ąćą'],
    ['windows-1251', '\xcf\xf0\xe8', 'При'],
    ['koi8-r', '\xf0\xd2\xc9', 'При'],
    ['shift_jis', '\x83_\x83\x5c\x93\xfa', 'ダソ日'],
    ['gb2312', '\xc4\xe3\xba\xc3', '你好'],
    ['big5', '\xa4_\xa4@', '于一'],
    ['euc-kr', '\xc7\xd1', '한'],
    ['utf-8', 'caf\xc3\xa9', 'café'],
    ['utf-8', 'caf\xe9', 'café'],
    ['us-ascii', 'caf\xe9', 'café'],
  ]
  for (const [charset, octets, expected] of words) {
    const word = `=?${charset}?Q?${octets}?=`
    add(`8-bit bytes in a word of ${charset}`, topped(text('x'), [`From: ${word} <a@y.com>`, `Subject: ${word}`]), {
      from: { name: expected, address: 'a@y.com' },
      subject: expected,
    })
  }
  const named = part(['Content-Type: x/y; name="=?iso-8859-2?Q?\xb1.txt?="'], 'x')
  add('8-bit bytes in a word of a name', topped(multi('mixed', [text('x'), named])), {
    files: [{ filename: 'ą.txt', content_type: 'x/y', content: 'x' }],
  })
  const raw = '\x1b$B@P@n$"$$\x1b(B'
  const japanese = part([`Content-Disposition: attachment; filename="${raw}.txt"`, 'Content-Type: x/y'], 'x')
  const head = [`From: ${raw} <a@y.com>`, `To: "${raw}" <me@acme.com>`, `Subject: Re: ${raw}`]
  add('fields in raw ISO-2022-JP', topped(multi('mixed', [text('x'), japanese]), head), {
    ...{ from: { name: '石川あい', address: 'a@y.com' }, to: ['me@acme.com'], subject: 'Re: 石川あい' },
    files: [{ filename: '石川あい.txt', content_type: 'x/y', content: 'x' }],
  })
  const escaped = topped(text('x'), [FROM, `Subject: =?iso-2022-jp?Q?${raw}?=`])
  add('raw ISO-2022-JP in a word', escaped, { subject: '石川あい' })
  add('an escape that is none', topped(text('x'), [FROM, 'Subject: \x1b$Ba']), { subject: '\x1b$Ba' })
  add('fields of two charsets', topped(text('x'), [`From: ${bytes('Åsa')} <a@y.com>`, 'Subject: Gr\xfc\xdfe']), {
    from: { name: 'Åsa', address: 'a@y.com' },
    subject: 'Grüße',
  })
}

function addTrees(add: Add): void {
  const both = multi('alternative', [text('plain'), html('<p>rich</p>')])
  const pdf = file('a.pdf', 'application/pdf', 'pdf')
  const listed = { filename: 'a.pdf', content_type: 'application/pdf', disposition: 'attachment', content: 'pdf' }
  const image = { filename: null, content_type: 'image/png', disposition: 'inline', content: PNG.toString('latin1') }
  const rich = '<p>rich</p>'
  add('plain', topped(text('Hello')), { text: 'Hello', html: null, files: [] })
  add('html only', topped(html(rich)), { text: null, html: rich, files: [] })
  add('alternative', topped(both), { text: 'plain', html: rich, files: [] })
  add('alternative in mixed', topped(multi('mixed', [both, pdf])), { text: 'plain', html: rich, files: [listed] })
  const related = multi('related', [both, inline('i@1')])
  add('alternative in related in mixed', topped(multi('mixed', [related, pdf])), {
    ...{ text: 'plain', html: rich, files: [image, listed] },
  })
  add(
    'related in alternative',
    topped(multi('alternative', [text('plain'), multi('related', [html(rich), inline('i')])])),
    {
      ...{ text: 'plain', html: rich, files: [image] },
    },
  )
  add('two texts', topped(multi('mixed', [text('one'), pdf, text('two')])), { text: 'one\ntwo', files: [listed] })
  add('a text as a file', topped(multi('mixed', [text('body'), file('n.txt', 'text/plain', 'note')])), {
    text: 'body',
    files: [{ filename: 'n.txt', content_type: 'text/plain', content: 'note' }],
  })
  add('an html page as a file', topped(multi('mixed', [text('body'), file('p.html', 'text/html', '<b>')])), {
    ...{ text: 'body', html: null, files: [{ filename: 'p.html', content_type: 'text/html', content: '<b>' }] },
  })
  add('only a file', topped(pdf), { text: null, html: null, files: [listed] })
  add('a boundary that begins another', topped(multi('mixed', [multi('mixed', [text('in')], 'b-mixed-2'), pdf])), {
    text: 'in',
    files: [listed],
  })
  add('a boundary in quotes with odd characters', topped(multi('mixed', [text('x'), pdf], "=_a'()+,-./:=?")), {
    text: 'x',
    files: [listed],
  })
  add(
    'a text put inline by its name',
    topped(multi('mixed', [text('body'), file('n.txt', 'text/plain', 'note', 'inline')])),
    {
      text: 'body',
      files: [{ filename: 'n.txt', content_type: 'text/plain', disposition: 'inline', content: 'note' }],
    },
  )
  add(
    'an image put inline by its name',
    topped(multi('mixed', [text('body'), file('i.png', 'image/png', PNG, 'inline')])),
    {
      files: [{ ...image, filename: 'i.png' }],
    },
  )
  const named = (type: string, name: string) => part([`Content-Type: ${type}; name="${name}"`], 'x')
  add('texts with names', topped(multi('mixed', [named('text/plain', 'a'), named('text/html', 'b.html')])), {
    text: 'x',
    html: null,
    files: [{ filename: 'b.html', content_type: 'text/html', disposition: 'attachment', content: 'x' }],
  })
  add('a text behind the root of related parts', topped(multi('related', [html('<p>'), text('note')])), {
    html: '<p>',
    text: null,
    files: [{ filename: null, content_type: 'text/plain', disposition: 'attachment', content: 'note' }],
  })
  add('a plain text beside an html one', topped(multi('mixed', [html('<p>'), text('a < b')])), {
    text: 'a < b',
    html: '<p>\n<div style="white-space: pre-wrap">a &lt; b</div>',
  })
  const forwarded = write(topped(text('inner'), [FROM, 'Subject: Inner'])).toString('latin1')
  const eml = part(['Content-Type: message/rfc822', 'Content-Disposition: attachment; filename="fwd.eml"'], forwarded)
  add('a message as a file', topped(multi('mixed', [text('see'), eml])), {
    text: 'see',
    files: [{ filename: 'fwd.eml', content_type: 'message/rfc822', content: forwarded }],
  })
  const digest = multi('digest', [
    part([], 'Subject: =?utf-8?Q?=C3=A9/?=\r\n\r\none'),
    part([], 'From: a@y.com\r\n\r\ntwo'),
  ])
  add('a digest', topped(digest), {
    text: null,
    files: [
      { filename: 'é_.eml', content_type: 'message/rfc822', content: 'Subject: =?utf-8?Q?=C3=A9/?=\r\n\r\none' },
      { filename: 'message.eml', content_type: 'message/rfc822', content: 'From: a@y.com\r\n\r\ntwo' },
    ],
  })
  add('a fragment', topped(part(['Content-Type: message/partial; id=x; number=1; total=2'], 'Subject: in\r\n\r\na')), {
    files: [{ filename: null, content_type: 'message/partial', content: 'Subject: in\r\n\r\na' }],
  })
}

function addSpecial(add: Add): void {
  const ics = 'BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n'
  const invitation = part(['Content-Type: text/calendar; method=REQUEST; charset=utf-8'], ics)
  const calendar = { filename: 'invite.ics', content_type: 'text/calendar; method=REQUEST', content: ics.trimEnd() }
  add('an invitation', topped(multi('alternative', [text('come'), html('<p>come</p>'), invitation])), {
    ...{ text: 'come', html: '<p>come</p>', files: [calendar] },
  })
  const tnef = Buffer.from('789f3e22', 'hex')
  add('winmail.dat', topped(multi('mixed', [text('x'), file('winmail.dat', 'application/ms-tnef', tnef)])), {
    ...{ text: 'x' },
    files: [{ filename: 'winmail.dat', content_type: 'application/ms-tnef', content: tnef.toString('latin1') }],
  })
  const flowed = 'One line that \r\nflows on.\r\n> quoted \r\n> too\r\n-- \r\nAnn'
  add('format=flowed', topped(part([`${PLAIN}; format=flowed`], flowed)), {
    text: 'One line that flows on.\n> quoted too\n-- \nAnn',
  })
  add(
    'format=flowed with a signature after a soft line',
    topped(part([`${PLAIN}; format=flowed`], 'Hello \r\n-- \r\nAnn')),
    {
      text: 'Hello \n-- \nAnn',
    },
  )
  const delSp = 'one-\r\n> one \r\n>> two  \r\n>> too \r\n\r\nlast \r\n line'
  add('format=flowed with delsp', topped(part([`${PLAIN}; format=flowed; delsp=yes`], delSp)), {
    text: 'one-\n> one\n>> two too\n\nlastline',
  })
  const apple = multi('appledouble', [
    file('p.jpg', 'application/applefile', 'fork'),
    file('p.jpg', 'image/jpeg', 'jpeg'),
  ])
  add('Apple double', topped(multi('mixed', [text('x'), apple])), {
    text: 'x',
    files: [
      { filename: 'p.jpg', content_type: 'application/applefile', content: 'fork' },
      { filename: 'p.jpg', content_type: 'image/jpeg', content: 'jpeg' },
    ],
  })
  const signature = file('smime.p7s', 'application/pkcs7-signature', 'sig')
  add(
    'signed',
    topped(multi('signed; protocol="application/pkcs7-signature"; micalg=sha-256', [text('x'), signature])),
    {
      text: 'x',
      files: [{ filename: 'smime.p7s', content_type: 'application/pkcs7-signature', content: 'sig' }],
    },
  )
  const version = part(['Content-Type: application/pgp-encrypted'], 'Version: 1')
  add('encrypted', topped(multi('encrypted', [version, file('encrypted.asc', 'application/octet-stream', 'pgp')])), {
    text: null,
    files: [
      { filename: null, content_type: 'application/pgp-encrypted', content: 'Version: 1' },
      { filename: 'encrypted.asc', content_type: 'application/octet-stream', content: 'pgp' },
    ],
  })
  const status = 'Reporting-MTA: dns; y.com\r\n\r\nFinal-Recipient: rfc822; b@y.com\r\nAction: failed\r\nStatus: 5.1.1'
  const original = 'From: me@acme.com\r\nSubject: Mine\r\n\r\nText'
  add(
    'a delivery status',
    topped(
      multi('report; report-type=delivery-status', [
        text('It failed'),
        part(['Content-Type: message/delivery-status'], status),
        part(['Content-Type: message/rfc822'], original),
      ]),
    ),
    {
      text: 'It failed',
      files: [
        { filename: null, content_type: 'message/delivery-status', content: status },
        { filename: 'Mine.eml', content_type: 'message/rfc822', content: original },
      ],
    },
  )
  const uu = 'begin 644 a.txt\r\n#0V%T\r\n`\r\nend'
  add('uuencode in a text', topped(text(uu)), { text: uu.replaceAll('\r\n', '\n'), files: [] })
  const long = part(
    [
      'Content-Type: application/pdf;',
      ' name="=?utf-8?Q?r=C3=A9sum=C3=A9=2Epdf?="',
      'Content-Disposition: attachment;\r\n filename*0*=utf-8\'\'r%C3;\r\n filename*1*=%A9sum;\r\n filename*2="e.pdf"',
    ],
    'x',
  )
  add('a name in pieces', topped(multi('mixed', [text('x'), long])), {
    files: [{ filename: 'résume.pdf', content_type: 'application/pdf', content: 'x' }],
  })
  const mixed: [pieces: string, filename: string][] = [
    [`filename*0*=utf-8''100%C2%A0; filename*1="%20off.pdf"`, '100\u00a0%20off.pdf'],
    [`filename*0="a b"; filename*1*=%20c%C3%A9.pdf`, 'a b cé.pdf'],
    [`filename*1="=41_(x).pdf"; filename*0*=iso-8859-1'en'%E9`, 'é=41_(x).pdf'],
    [`filename*0*=x-unknown''%C3%A9; filename*1=".pdf"`, 'é.pdf'],
  ]
  for (const [pieces, filename] of mixed) {
    const named = part(['Content-Type: application/pdf', `Content-Disposition: attachment; ${pieces}`], 'x')
    add(`a name in pieces of which some are encoded: ${pieces}`, topped(multi('mixed', [text('x'), named])), {
      files: [{ filename, content_type: 'application/pdf', content: 'x' }],
    })
  }
  const word = part(['Content-Type: application/pdf; name="=?utf-8?B?w6kucGRm?="'], 'x')
  add('a name as an encoded word', topped(multi('mixed', [text('x'), word])), {
    files: [{ filename: 'é.pdf', content_type: 'application/pdf', content: 'x' }],
  })
  const raw8 = part([`Content-Disposition: attachment; filename="${bytes('Ünï.pdf')}"`, 'Content-Type: x/y'], 'x')
  add('a name in raw utf-8', topped(multi('mixed', [text('x'), raw8])), {
    files: [{ filename: 'Ünï.pdf', content_type: 'x/y', content: 'x' }],
  })
  const path = file('../../etc/passwd', 'application/pdf', 'x')
  add('a name that is a path', topped(multi('mixed', [text('x'), path])), {
    files: [{ filename: '.._.._etc_passwd', content_type: 'application/pdf', content: 'x' }],
  })
  add(
    'a type that is none',
    topped(multi('mixed', [text('x'), part(['Content-Type: <script>', 'Content-Disposition: attachment'], 'y')])),
    {
      text: 'x',
      files: [{ filename: null, content_type: 'application/octet-stream', content: 'y' }],
    },
  )
  const padded = `${base64('one').trim()}\r\n${base64('four').trim()}`
  add('base64 in pieces that are padded', topped(part([PLAIN, 'Content-Transfer-Encoding: base64'], padded)), {
    text: 'onefour',
  })
  add('base64 with rubbish in it', topped(part([PLAIN, 'Content-Transfer-Encoding: base64'], 'SGVs!!\r\n*bG8=')), {
    text: 'Hello',
  })
  add(
    'quoted-printable that is broken',
    topped(part([PLAIN, 'Content-Transfer-Encoding: quoted-printable'], 'a=ZZ b= \r\nc=')),
    {
      text: 'a=ZZ bc',
    },
  )
  add('an encoding nobody knows', topped(part([PLAIN, 'Content-Transfer-Encoding: 9bit'], 'Hello')), { text: 'Hello' })
  add('an encoding in odd case', topped(part([PLAIN, 'Content-Transfer-Encoding:   BASE64 '], 'SGVsbG8=')), {
    text: 'Hello',
  })
}

function addBroken(add: Add): void {
  add('nothing', Buffer.alloc(0), { from: null, subject: '', text: null, html: null, files: [] })
  add('no headers', Buffer.from('\r\nHello'), { subject: '', text: 'Hello' })
  add('headers only', Buffer.from(`${FROM}\r\nSubject: x`), { subject: 'x', text: null })
  add('line feeds only', write(topped(multi('alternative', [text('plain'), html('<p>')])), '\n'), {
    text: 'plain',
    html: '<p>',
  })
  const missing = topped(multi('mixed', [text('a'), text('b')]))
  const bare = missing.headers.map(line => line.replace(/; boundary.*/, ''))
  add('a multipart without a boundary', { headers: bare, body: 'Hello' }, { subject: 'Hello' })
  const open = topped(multi('mixed', [text('a'), file('a.pdf', 'application/pdf', 'pdf')]))
  add(
    'parts that do not end',
    { ...open, body: open.body.replace('--b-mixed--', '') },
    {
      text: 'a',
      files: [{ filename: 'a.pdf', content_type: 'application/pdf', content: 'pdf' }],
    },
  )
  const other = topped(multi('mixed', [text('a')]))
  add('a boundary that never comes', { ...other, body: other.body.replaceAll('b-mixed', 'x') }, { subject: 'Hello' })
  add('words before and after the parts', { ...other, body: `before\r\n${other.body}after` }, { text: 'a' })
  const declared = (charset: string, octets: string) => topped(part([`Content-Type: text/plain${charset}`], octets))
  add('latin-1 without a charset', declared('', 'Gr\xfc\xdfe'), { text: 'Grüße' })
  add('utf-8 without a charset', declared('', bytes('Grüße')), { text: 'Grüße' })
  add('latin-1 said to be utf-8', declared('; charset=utf-8', 'Gr\xfc\xdfe'), { text: 'Grüße' })
  add('utf-8 said to be ascii', declared('; charset=us-ascii', bytes('Grüße 👋')), { text: 'Grüße 👋' })
  add('an unknown charset', declared('; charset=x-unknown', 'Hello'), { text: 'Hello' })
  add('a NUL', declared('; charset=utf-8', 'a\0b'), { text: 'a\ufffdb' })
  add('half a character', declared('; charset=utf-8', bytes('a€').slice(0, -1)), {})
  add('utf-8 that ends within a character', declared('; charset=utf-8', bytes('Привет').slice(0, -1)), {
    text: 'Приве\ufffd',
  })
  const cut = `<meta charset="iso-8859-1"><p>${bytes('Привет').slice(0, -1)}`
  add('utf-8 that was cut, of which HTML says otherwise', topped(part([HTML], cut)), {
    html: '<meta charset="iso-8859-1"><p>Приве\ufffd',
  })
  add('utf-8 with a line of latin-1', declared('', `${bytes('Größe für Äpfel')}\r\nListe priv\xe9e`), {
    text: 'Größe für Äpfel\nListe priv\ufffde',
  })
  add('a header without a colon', topped(text('Hello'), [FROM, 'nonsense', 'Subject: x']), {
    subject: 'x',
    text: 'Hello',
  })
  add('a type without a subtype', topped(part(['Content-Type: text'], 'Hello')), { text: 'Hello', files: [] })
  add('an empty type', topped(part(['Content-Type:'], 'Hello')), { text: 'Hello' })
  add('two types', topped(part([PLAIN, HTML], 'Hello')), { text: 'Hello', html: null })
  add(
    'From_ before it',
    Buffer.concat([Buffer.from('From ann@y.com Tue Jul 1 10:00:00 2025\r\n'), write(topped(text('x')))]),
    {
      subject: 'Hello',
      text: 'x',
    },
  )
  add('a binary body', Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * 7919) % 256)), {})
}

/** Variants of these messages with bytes lost, doubled, changed or swapped; the same for the same seed. */
export function varyReceivedMessages(seed: number, count: number): Buffer[] {
  const originals = listReceivedMessages().filter(({ raw }) => raw.length > 0 && raw.length < 10_000)
  let state = seed
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const changes: ((raw: Buffer, at: number, end: number) => Buffer[])[] = [
    (raw, at, end) => [raw.subarray(0, at), raw.subarray(end)],
    (raw, at, end) => [raw.subarray(0, end), raw.subarray(at)],
    (raw, at) => [raw.subarray(0, at)],
    (raw, at, end) => [raw.subarray(0, at), Buffer.from([random(256)]), raw.subarray(end)],
    (raw, at, end) => [raw.subarray(0, at), raw.subarray(end), raw.subarray(at, end)],
    (raw, at) => [raw.subarray(0, at), Buffer.from('\r\n\r\n'), raw.subarray(at)],
  ]
  return Array.from({ length: count }, (_, n) => {
    let raw = (originals[n % originals.length] as ReceivedMessage).raw
    for (let changed = 0; changed <= random(4); changed++) {
      const at = random(raw.length + 1)
      const change = changes[random(changes.length)] as (typeof changes)[number]
      raw = Buffer.concat(change(raw, at, Math.min(raw.length, at + random(40))))
    }
    return raw
  })
}
