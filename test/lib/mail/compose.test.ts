import { execFile } from 'node:child_process'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import PostalMime from 'postal-mime'
import t from 'tap'
import { composeAndSign } from '#lib/mail/compose.ts'
import { generateDkimKey, loadDkimKey, signMessage } from '#lib/mail/dkim.ts'
import { composeMessage, type Message, serializeMessage } from '#lib/mail/message.ts'
import { file } from '#test/support/mail/attachments.ts'

const keys = await Promise.all(
  (['rsa-sha256', 'ed25519-sha256'] as const).map(async algorithm => {
    const { private_key } = await generateDkimKey(algorithm)
    return { domain: 'x.com', selector: algorithm, algorithm, private_key: loadDkimKey(private_key) }
  }),
)
const message: Message = {
  message_id: '1@x.com',
  date: new Date(0),
  from: { name: 'Ä', address: 'a@x.com' },
  to: [{ name: null, address: 'b@y.com' }],
  cc: [],
  reply_to: [],
  subject: '😀',
  headers: { 'X-A': 'b' },
  text: 'é\n.\n',
  html: null,
  attachments: [],
  seed: '1',
}

t.test('a large message is composed in a thread with the same bytes, signed or not', async t => {
  for (const text of ['x'.repeat(1_000), 'é'.repeat(256 * 1024), 'é'.repeat(256 * 1024 + 1), '€\r\n'.repeat(200_000)]) {
    const large = { ...message, text }
    const composed = composeMessage(large)
    const signed = serializeMessage(composed, await signMessage(composed, keys, message.date))
    t.ok((await composeAndSign(large, [])).equals(serializeMessage(composed)), `${text.length} characters`)
    t.ok((await composeAndSign(large, keys)).equals(signed))
  }
})

t.test('composing a large message does not block the main thread', async t => {
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  await composeAndSign({ ...message, html: '<p>€</p>\n'.repeat(500_000) }, [])
  clearInterval(timer)
  t.ok(turns >= 5, `${turns} turns`)
})

t.test('a large file is encoded in place, over many turns of the event loop', async t => {
  const piece = Buffer.alloc(1 << 20, 'a')
  const size = 16 * piece.length
  const before = process.memoryUsage().arrayBuffers
  let most = before
  const read = async function* () {
    for (let i = 0; i < 16; i++) {
      yield piece
      most = Math.max(most, process.memoryUsage().arrayBuffers)
    }
  }
  let isComposed = false
  const composed = composeAndSign({ ...message, attachments: [file('', { size, read })] }, keys).finally(() => {
    isComposed = true
  })
  let turns = 0
  for (; !isComposed; turns++) await nextTurn()
  t.ok((await composed).length < 1.38 * size)
  t.ok(most - before < 1.5 * size, `${most - before} bytes of ${size}`)
  t.ok(turns >= 40, `${turns} turns`)
})

t.test('a long text and a file are composed together', async t => {
  const text = 'é'.repeat(300_000)
  const read = await PostalMime.parse(await composeAndSign({ ...message, text, attachments: [file('content')] }, keys))
  t.equal(read.text?.trim(), text)
  t.strictSame(
    read.attachments.map(({ content }) => Buffer.from(content as ArrayBuffer).toString()),
    ['content'],
  )
})

t.test('a message that cannot be composed is an error, and the next one succeeds', async t => {
  for (const text of ['small', 'x'.repeat(300_000)]) {
    const wrong = { ...message, text, from: { name: null, address: 'a@x.com>\r\nBcc: <c@z.com' } }
    await t.rejects(composeAndSign(wrong, keys), TypeError)
    t.ok((await composeAndSign({ ...message, text }, keys)).length > text.length)
  }
})

t.test('an idle thread does not keep its process alive', async t => {
  const compose = fileURLToPath(new URL('../../../lib/mail/compose.ts', import.meta.url))
  const script = `
    import { composeAndSign } from ${JSON.stringify(compose)}
    const message = JSON.parse(process.argv[1], (name, value) => (name === 'date' ? new Date(value) : value))
    console.log((await composeAndSign({ ...message, text: 'x'.repeat(300_000) }, [])).length > 300_000)
  `
  const argv = ['--input-type=module', '--eval', script, JSON.stringify(message)]
  t.equal((await promisify(execFile)(process.execPath, argv, { timeout: 20_000 })).stdout, 'true\n')
})
