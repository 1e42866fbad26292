import t from 'tap'
import { Output } from '#client/cli/print/output.ts'
import { MailbrookError } from '#client/source/index.ts'

/** An output to a terminal of this width, or to none if null. */
function open(columns: number | null, options: { json?: boolean; fields?: string } = {}) {
  const written = { stdout: '', stderr: '' }
  const stream = (name: 'stdout' | 'stderr') => ({
    ...(columns === null ? {} : { isTTY: true, columns }),
    write: (text: string) => {
      written[name] += text
    },
  })
  return { written, output: new Output({ stdout: stream('stdout'), stderr: stream('stderr') }, options) }
}

const email = {
  object: 'email',
  id: '1',
  to: ['anna@y.com', 'b@b.com'],
  subject: 'Grüße 🦄',
  status: 'sent',
  tags: [{ name: 'a' }],
  html: null,
}

t.test('a terminal gets a table of the columns that fit', async t => {
  const { written, output } = open(60)
  output.items([email, { ...email, id: '12', subject: '中文', to: ['c@c.com'] }])
  output.items([{ ...email, id: '123456', subject: 'Too long for its column', status: 'queued' }])
  t.strictSame(written.stdout.split('\n'), [
    'ID  TO                   SUBJECT   STATUS  HTML',
    '1   anna@y.com, b@b.com  Grüße 🦄  sent    -',
    '12  c@c.com              中文      sent    -',
    '123456  anna@y.com, b@b.com  Too lon…  queued  -',
    '',
  ])
  const narrow = open(30)
  narrow.output.items([email])
  t.strictSame(narrow.written.stdout.split('\n')[0], 'ID  TO')
})

t.test('a terminal gets a record as lines, without control characters', async t => {
  const { written, output } = open(80)
  output.record({ ...email, subject: '\u001b[2Jgone\u0007', html: 'two\nlines' })
  t.equal(
    written.stdout,
    ['id       1', 'to       anna@y.com, b@b.com', 'subject  \ufffd[2Jgone\ufffd', 'status   sent']
      .concat([
        'tags     [',
        '           {',
        '             "name": "a"',
        '           }',
        '         ]',
        'html     two',
        '         lines',
        '',
      ])
      .join('\n'),
  )
})

t.test('a terminal gets no control characters in nested values, notes and errors', async t => {
  const { written, output } = open(80)
  output.record({ events: [{ reply: '250 \u009b2J' }] })
  output.note('Line 2: \u001b[2J')
  output.error(new MailbrookError(502, 'unexpected_response', 'It is \u001b]0;', { details: { text: '\u009b' } }))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these control a terminal
  t.notMatch(written.stdout + written.stderr, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
})

t.test('a table shows objects as JSON', async t => {
  const { written, output } = open(80, { fields: 'id,tags' })
  output.items([email])
  t.equal(written.stdout, 'ID  TAGS\n1   {"name":"a"}\n')
})

t.test('programs get one line of JSON per item, with the requested fields', async t => {
  for (const { written, output } of [
    open(null, { fields: 'id, subject,none' }),
    open(80, { json: true, fields: 'id,subject' }),
  ]) {
    output.items([email, email])
    output.record(email)
    t.equal(written.stdout, '{"id":"1","subject":"Grüße 🦄"}\n'.repeat(3))
  }
  const { written, output } = open(80, { fields: 'status,id' })
  output.items([email])
  t.equal(written.stdout, 'STATUS  ID\nsent    1\n')
})

t.test('progress is shown on terminals only, and an error comes after it', async t => {
  const error = new MailbrookError(503, 'batch_incomplete', 'Out of time.', { details: { sent_count: 1 } })
  const seen = open(80)
  seen.output.progress('Sent', 1000, 2000)
  seen.output.error(error)
  t.equal(
    seen.written.stderr,
    '\r\u001b[KSent 1,000 of 2,000 50 %\nmailbrook: Out of time. (batch_incomplete, 503)\n{"sent_count":1}\n',
  )
  const unseen = open(null)
  unseen.output.progress('Sent', 1, null)
  unseen.output.error(error)
  t.equal(
    unseen.written.stderr,
    '{"statusCode":503,"name":"batch_incomplete","message":"Out of time.","sent_count":1}\n',
  )
})
