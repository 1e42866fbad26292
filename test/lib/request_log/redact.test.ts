import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { generateApiKey } from '#lib/api_key.ts'
import { ApiError } from '#lib/errors.ts'
import { MAX_BYTES, redactBody } from '#lib/request_log/redact.ts'

const redacted = (body: unknown) => JSON.parse(redactBody(body))
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

t.test('redactBody keeps ordinary values in order', async t => {
  const email = { to: ['a@b.co'], from: 'Grüße 👍 <a@b.co>', n: [1, -1.5, true, null, '', {}, []], 'x"\n': '\u0001"\\' }
  for (const body of [email, [email, email], null, 'text', 0, [], {}, JSON.parse('{"__proto__":{"a":1}}')]) {
    t.equal(redactBody(body), JSON.stringify(body))
  }
})

t.test('values are written as in JSON responses', async t => {
  const date = new Date('2026-11-21T09:19:04.123Z')
  t.strictSame(redacted({ date, queue: undefined, f: () => 1 }), { date: date.toJSON(), f: null })
  t.strictSame(redacted([undefined]), [null])
  t.strictSame(redacted(new ApiError('not_found', 'Email not found', { cause: 'secret' })), {
    statusCode: 404,
    name: 'not_found',
    message: 'Email not found',
  })
})

const secretNames = [
  ...[
    'password',
    'PASSWORD',
    'smtp_password',
    'passwd',
    'passphrase',
    'pwd',
    'secret',
    'client_secret',
    'signing_secret',
  ],
  ...['token', 'access_token', 'refreshToken', 'Authorization', 'X-Authorization', 'Set-Cookie', 'credentials', 'auth'],
  ...[
    'key',
    'keys',
    'KEY',
    'apiKey',
    'api_key',
    'API-Key',
    'private_key',
    'privateKey',
    'signing_key',
    'encryptionKey',
  ],
  ...[
    'apiUser',
    'api_user',
    'userName',
    'user_name',
    'access key',
    'resetToken',
    'PASSWORD_NEW',
    'dkim_key',
    'godaddyKey',
    'x-key',
  ],
]

t.test('members with secret names are redacted, whatever their value and depth', async t => {
  for (const name of secretNames) {
    for (const secret of ['canary', 7261, true, ['canary'], { a: { b: 'canary' } }]) {
      t.strictSame(redacted([{ a: { [name]: secret, b: 1 } }]), [{ a: { [name]: '[redacted]', b: 1 } }], name)
    }
    t.strictSame(redacted({ [name]: null }), { [name]: null })
  }
})

const toVariant = (field: string) => ({ key: 'B', [field]: 'x' })

t.test('members with similar names that are not secret are kept', async t => {
  const body = {
    ...{
      id: '1',
      prefix: 'mb_1a2b',
      public_key: 'p',
      publicKeys: ['p'],
      idempotent: true,
      keyboard: 'qwerty',
      domain_id: 'x',
      author: 'ann',
    },
    variables: [{ key: 'PLAN', type: 'string', fallback_value: 'pro' }],
    property_filters: [{ key: 'plan', operator: 'eq', value: 'pro' }],
    poll: { question: 'How?', options: [{ key: 'great', label: 'Great' }] },
    answers: [{ key: 'great', label: 'Great', count: 1, percentage: 100 }],
    ab_test: { variants: [{ key: 'A', subject: 'Hi' }, ...['html', 'text', 'from', 'preview_text'].map(toVariant)] },
  }
  t.strictSame(redacted(body), body)
})

t.test('an API key is redacted anywhere', async t => {
  const key = generateApiKey()
  const long = 'x'.repeat(16 * 1024 - 30) + key // cut within the key
  const text = redactBody({ html: `Your key is ${key}.`, [key]: 1, long })
  for (const part of [key, key.slice(0, 30), key.slice(5)]) t.notMatch(text, part)
  t.match(JSON.parse(text), { html: 'Your key is [redacted].', '[redacted]': 1 })
})

t.test('content is replaced by the size and hash of the file', async t => {
  const content = Buffer.from('a file').toString('base64')
  const file = { sha256: sha256('a file'), size: 6 }
  t.strictSame(redacted([{ attachments: [{ filename: 'a', content, content_id: 'x' }] }]), [
    { attachments: [{ filename: 'a', content: file, content_id: 'x' }] },
  ])
  t.strictSame(redacted({ Content: 'Größe; 1' }), { Content: { sha256: sha256('Größe; 1'), size: 10 } })
  t.strictSame(redacted({ content: '' }), { content: { sha256: sha256(''), size: 0 } })
  const blank = `${' '.repeat(1_000_000)};` // slow for a careless pattern
  t.match(redacted({ content: blank }), { content: { size: 1_000_001 } })
  const taken = { attachments: [{ content: { sha256: 'ab', size: 9_000_000 } }] }
  t.strictSame(redacted(taken), taken, 'content that is already extracted')
})

t.test('a long string is clipped with its length, and what follows is kept', async t => {
  const { html, to } = redacted({ html: 'x'.repeat(1_000_000), to: 'a@b.co' })
  t.equal(html, `${'x'.repeat(16 * 1024)}… [1000000 characters]`)
  t.equal(to, 'a@b.co')
  t.match(redacted({ a: `${'x'.repeat(16 * 1024 - 1)}👍👍` }).a, /x\ufffd… \[/, 'not in the middle of a character')
})

t.test('values beyond the size limit are marked as clipped', async t => {
  const list = redacted(Array(1_000_000).fill('item'))
  t.equal(list.at(-1), '[clipped]')
  t.strictSame(new Set(list.slice(0, -1)), new Set(['item']))
  t.ok(list.length > 8_000)

  const fields = redacted(Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`field${n}`, n])))
  t.match(fields, { field0: 0, field1000: 1000, '[clipped]': true })
  t.strictSame(redacted({ ['k'.repeat(100_000)]: 1 }), { '[clipped]': true })
  t.match(redactBody(JSON.parse('['.repeat(5_000) + ']'.repeat(5_000))), /^\[+"\[clipped\]"\]+$/)
})

t.test('any body becomes JSON of at most 64 KiB without secrets', async t => {
  const canary = 'canary7261'
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', '"', '\\', '\u0001', 'é', '👍', '\ud800') }),
    fc.tuple(fc.constantFrom('x', '\u0001', '👍', '\ud800'), fc.nat({ max: 20_000 })).map(([c, n]) => c.repeat(n)),
  )
  const secret = fc.constantFrom(...secretNames).map(name => ({ [name]: canary }))
  const attachment = fc.constant({ content: Buffer.from(canary).toString('base64') })
  const { body } = fc.letrec(tie => ({
    body: fc.oneof({ depthSize: 'medium' }, text, secret, attachment, fc.integer(), tie('list'), tie('fields')),
    list: fc.oneof(
      fc.array(tie('body'), { maxLength: 15 }),
      fc.tuple(tie('body'), fc.nat({ max: 5_000 })).map(([item, count]) => Array(count).fill(item)),
    ),
    fields: fc.dictionary(text, tie('body'), { maxKeys: 15 }),
  }))
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(body, value => {
        const json = redactBody(value)
        JSON.parse(json)
        const isSafe = !json.includes(canary) && !json.includes(Buffer.from(canary).toString('base64'))
        return Buffer.byteLength(json) <= MAX_BYTES && isSafe
      }),
      { numRuns: 100 },
    ),
  )
})
