import { createRequire } from 'node:module'
import { MailParser } from 'mailparser'
import t from 'tap'
import { MailReader } from '#lib/receiving/parse/mail_reader.ts'
import { shows } from '#test/support/shows.ts'

const require = createRequire(import.meta.url)
const ofMailparser = createRequire(require.resolve('mailparser'))

/**
 * MailReader overrides private members of mailparser, which may change in any release. Before you update these versions,
 * read what changed in `mail-parser.js` and in `mime-node.js` of mailsplit.
 */
t.test('mailparser has the version that MailReader was written for', async t => {
  t.equal(require('mailparser/package.json').version, '3.9.31')
  t.equal(ofMailparser('@zone-eu/mailsplit/package.json').version, '5.4.19')
})

const OVERRIDDEN = {
  ...{ getDecoder: [], processHeaders: ['lines'], createNode: ['node'], getTextContent: [] },
  decodeAddresses: ['addresses'],
}

t.test('mailparser has the methods that MailReader overrides', async t => {
  const theirs = MailParser.prototype as unknown as Record<string, (...args: unknown[]) => unknown>
  for (const [name, parameters] of Object.entries(OVERRIDDEN)) {
    const method = theirs[name]
    t.type(method, 'function', name)
    t.match(String(method), new RegExp(`^${name}\\(${parameters.join(', ')}\\) \\{`))
    t.ok(Object.hasOwn(MailReader.prototype, name), `MailReader overrides ${name}`)
  }
  const own = Object.getOwnPropertyNames(MailReader.prototype).filter(name => name in theirs && name !== 'constructor')
  t.same(own.sort(), Object.keys(OVERRIDDEN).sort(), 'and no others')
})

t.test('mailparser calls what MailReader overrides', async t => {
  const called: string[] = []
  class Told extends MailReader {
    override getDecoder() {
      called.push('getDecoder')
      const decoder = super.getDecoder()
      t.type(decoder.decodeStream('koi8-r').write, 'function', 'a decoder is a stream')
      return decoder
    }
    override processHeaders(lines: { key: string; line: string }[]) {
      called.push('processHeaders')
      for (const { key, line } of lines) t.equal(line.slice(0, key.length).toLowerCase(), key, 'a line has its name')
      return super.processHeaders(lines)
    }
    override decodeAddresses(mailboxes: Parameters<MailReader['decodeAddresses']>[0]) {
      called.push('decodeAddresses')
      shows(t, mailboxes, [{ name: '', address: 'a@y.com' }])
      super.decodeAddresses(mailboxes)
    }
    override createNode(split: Parameters<MailReader['createNode']>[0]) {
      called.push('createNode')
      const { root, parentNode, contentType, charset, encoding, disposition, filename, flowed, delSp } = split
      seen.push({ root, contentType, charset, encoding, disposition, filename, flowed, delSp })
      if (parentNode) t.equal(parentNode.contentType, 'multipart/mixed')
      t.equal(split.headers.hasHeader('Content-ID'), split.contentType === 'text/plain')
      t.same(
        Object.keys(split._parsedContentType.params),
        PARAMETERS[called.filter(x => x === 'createNode').length - 1],
      )
      const node = super.createNode(split)
      t.ok(node.headers.has(':declared'), 'headers of a node can be added to')
      return node
    }
    override getTextContent() {
      called.push('getTextContent')
      t.equal(this.tree ? this.tree.children[0]?.textContent?.trim() : null, 'при')
      return super.getTextContent()
    }
  }
  const seen: object[] = []
  const reader = new Told(() => {})
  reader.end(Buffer.from(MESSAGE, 'latin1'))
  const found: string[] = []
  for await (const item of reader) {
    found.push(item.type)
    if (item.type !== 'attachment') continue
    t.match(item, { filename: 'a.pdf', headers: Map, release: Function })
    for await (const _ of item.content);
    item.release()
  }
  t.same(found, ['attachment', 'text'])
  const node = ['createNode', 'processHeaders']
  t.same(called, ['getDecoder', ...node, 'decodeAddresses', ...node, ...node, 'getTextContent'])
  const none = { root: false, charset: false, disposition: false, filename: false, flowed: false, delSp: false }
  t.same(seen, [
    { ...none, root: true, contentType: 'multipart/mixed', encoding: '' },
    { ...none, contentType: 'text/plain', charset: 'koi8-r', encoding: '8bit', flowed: true, delSp: true },
    { ...none, contentType: 'application/pdf', encoding: 'base64', disposition: 'inline', filename: 'a.pdf' },
  ])
})

const PARAMETERS = [['boundary'], ['charset', 'format', 'delsp'], ['name']]
const MESSAGE = `From: a@y.com\r
Content-Type: multipart/mixed; boundary=b\r
\r
--b\r
Content-Type: text/plain; charset=koi8-r; format=flowed; delsp=yes\r
Content-ID: <1@y.com>\r
Content-Transfer-Encoding: 8BIT\r
\r
\xd0\xd2\xc9\r
--b\r
Content-Type: application/pdf; name=a.pdf\r
Content-Disposition: INLINE\r
Content-Transfer-Encoding: BASE64\r
\r
YQ==\r
--b--\r
`
