import t from 'tap'
import { forwardSubject, replyHeaders, replySubject, safeSubject } from '#lib/mail/threading.ts'
import { cpuMs } from '#test/support/cpu_time.ts'

t.test('replySubject and forwardSubject add their prefix only once', async t => {
  for (const subject of ['Re: a', 'RE: a', 'Aw: a', 'Sv: a', 'Re[2]: a', 'antw:a', 'Re：a']) {
    t.equal(replySubject(subject), subject)
  }
  for (const subject of ['a', '', 'Rest: a', 'Fwd: Re: a', 'Reply', 'Ref: 7'])
    t.equal(replySubject(subject), `Re: ${subject}`)
  for (const subject of ['Fwd: a', 'FW: a', 'Wg: a']) t.equal(forwardSubject(subject), subject)
  t.equal(forwardSubject('Re: a'), 'Fwd: Re: a')
})

t.test('hostile subjects become one line that can be sent', async t => {
  t.equal(replySubject('a\r\nBcc: x@y.com\u2028b\0'), 'Re: a Bcc: x@y.com b')
  t.equal(safeSubject(`\ud800${'x'.repeat(2_000)}`).length, 998)
  t.equal(replySubject(`${'x'.repeat(993)}😀`), `Re: ${'x'.repeat(993)}`)
})

t.test('References lists the ids of the thread once each, the last message at the end', async t => {
  const headers = (message_id: string | null, references: string | null = null, in_reply_to: string | null = null) =>
    replyHeaders({ message_id, references, in_reply_to }).References
  t.equal(headers('<c@y>', '<a@y>\r\n\t<b@y> <a@y>'), '<a@y> <b@y> <c@y>')
  t.equal(headers('<b@y>', null, '<a@y>'), '<a@y> <b@y>')
  t.equal(headers('<b@y>', null, '<a@y> <x@y>'), '<b@y>')
  t.equal(headers('<b@y>', '<b@y> <a@y>'), '<a@y> <b@y>')
  t.strictSame(replyHeaders({ message_id: null, references: '<a@y>', in_reply_to: null }), {})
})

t.test('invalid message ids are left out of References', async t => {
  const wrong = [
    '<a b@y>',
    '<a@y',
    'a@y>',
    '<é@y>',
    '<a@>',
    '<=?utf-8?q?=0D=0Ax?=@y>',
    `<${'x'.repeat(300)}@y>`,
    '<\0@y>',
  ]
  for (const id of wrong) {
    t.strictSame(replyHeaders({ message_id: id, references: null, in_reply_to: null }), {}, id)
    const { References } = replyHeaders({ message_id: '<b@y>', references: `<a@y> ${id} <c@y>`, in_reply_to: null })
    t.equal(References, '<a@y> <c@y> <b@y>', id)
  }
})

t.test('References of a long thread keeps its first and last ids', async t => {
  const id = (n: number) => `<${n}${'x'.repeat(240)}@y>`
  const references = Array.from({ length: 5_000 }, (_, n) => id(n)).join(' ')
  const { References = '' } = replyHeaders({ message_id: id(5_000), references, in_reply_to: null })
  const ids = References.split(' ')
  t.strictSame([ids.length, ids[0], ids[1], ids.at(-1)], [20, id(0), id(4_982), id(5_000)])
  t.ok(References.length < 8_000)
  const hostile = {
    message_id: '<'.repeat(500_000),
    references: '<a'.repeat(300_000),
    in_reply_to: `<${'a@'.repeat(300_000)}`,
  }
  const ms = await cpuMs(() => replyHeaders(hostile))
  t.ok(ms < 1_000, `${ms} ms`)
})
