import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { composeAndSign } from '../../lib/compose.ts'
import { generateDkimKey, loadDkimKey, signMessage } from '../../lib/dkim.ts'
import { composeMessage, type Message, serializeMessage } from '../../lib/message.ts'

const { private_key } = await generateDkimKey('ed25519-sha256')
const key = {
  domain: 'x.com',
  selector: 's',
  algorithm: 'ed25519-sha256' as const,
  private_key: loadDkimKey(private_key),
}
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

t.test('a large message gets the same bytes in a thread as here, signed or not', async t => {
  for (const text of ['x'.repeat(1_000), 'é'.repeat(256 * 1024), 'é'.repeat(256 * 1024 + 1), '€\r\n'.repeat(200_000)]) {
    const large = { ...message, text }
    const composed = composeMessage(large)
    const signed = serializeMessage(composed, [await signMessage(composed, key, message.date)])
    t.ok((await composeAndSign(large, null)).equals(serializeMessage(composed)), `${text.length} characters`)
    t.ok((await composeAndSign(large, key)).equals(signed))
  }
})

t.test('a large message does not hold up the main thread', async t => {
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  await composeAndSign({ ...message, html: '<p>€</p>\n'.repeat(500_000) }, null)
  clearInterval(timer)
  t.ok(turns >= 5, `${turns} turns`)
})

t.test('what cannot be composed says so, in either place, and the next one can', async t => {
  for (const text of ['small', 'x'.repeat(300_000)]) {
    const wrong = { ...message, text, from: { name: null, address: 'a@x.com>\r\nBcc: <c@z.com' } }
    await t.rejects(composeAndSign(wrong, key), TypeError)
    t.ok((await composeAndSign({ ...message, text }, key)).length > text.length)
  }
})

t.test('a thread that has nothing to do does not keep its process alive', async t => {
  const compose = fileURLToPath(new URL('../../lib/compose.ts', import.meta.url))
  const script = `
    import { composeAndSign } from ${JSON.stringify(compose)}
    const message = JSON.parse(process.argv[1], (name, value) => (name === 'date' ? new Date(value) : value))
    console.log((await composeAndSign({ ...message, text: 'x'.repeat(300_000) }, null)).length > 300_000)
  `
  const argv = ['--input-type=module', '--eval', script, JSON.stringify(message)]
  t.equal((await promisify(execFile)(process.execPath, argv, { timeout: 20_000 })).stdout, 'true\n')
})
