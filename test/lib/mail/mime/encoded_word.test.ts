import { equal, match } from 'node:assert/strict'
import fc from 'fast-check'
import PostalMime, { decodeWords } from 'postal-mime'
import t from 'tap'
import { composeMessage, serializeMessage } from '#lib/mail/message.ts'
import { encodedWords } from '#lib/mail/mime/encoded_word.ts'

const scripts = [
  'Привет, мир ',
  'नमस्ते दुनिया ',
  'สวัสดีชาวโลก ',
  '中文主题测试',
  'a日本語のテスト',
  'é한국어 제목',
  '👩‍👩‍👧‍👦 ',
  'x',
]
const texts = fc.array(fc.oneof(fc.constantFrom(...scripts), fc.string({ unit: 'grapheme', maxLength: 4 })), {
  maxLength: 20,
})

t.test('only the last encoded word is padded, whatever the script', async () => {
  const property = fc.property(texts, parts => {
    const text = parts.join('').toWellFormed()
    const words = encodedWords(text)
    for (const word of words) match(word, /^=\?utf-8\?[BQ]\?.{1,52}\?=$/)
    for (const word of words.slice(0, -1)) match(word, /[^=]\?=$/)
    equal(decodeWords(words.join(' ')), text)
  })
  fc.assert(property, { numRuns: 1_000, seed: 20261129 })
})

t.test('a long subject and a long name in mixed scripts arrive whole', async t => {
  const text = `a${'日本語'.repeat(20)} ${scripts.join('')}`.trim()
  const composed = composeMessage({
    message_id: '0190@acme.com',
    date: new Date('2026-11-01T09:05:07Z'),
    from: { name: text, address: 'a@acme.com' },
    to: [],
    cc: [],
    reply_to: [],
    subject: text,
    headers: {},
    text: 'Hi',
    html: null,
    attachments: [],
    seed: 'x',
  })
  const parsed = await PostalMime.parse(serializeMessage(composed))
  t.equal(parsed.subject, text)
  t.equal(parsed.from?.name, text)
})
