import { createHmac } from 'node:crypto'
import t from 'tap'
import { apiKeyPrefix, generateApiKey, hashApiKey, isWellFormedApiKey } from '#lib/api_key.ts'

t.test('API keys are unique and have one length', async t => {
  const keys = new Set(Array.from({ length: 2000 }, generateApiKey))
  t.equal(keys.size, 2000)
  for (const key of keys) {
    if (!/^mb_[0-9A-Za-z]{49}$/.test(key) || !isWellFormedApiKey(key)) t.fail(key)
  }
})

t.test('API keys use all 62 digits in every position', async t => {
  const secrets = Array.from({ length: 1000 }, () => generateApiKey().slice(3, 46))
  t.equal(new Set(secrets.join('')).size, 62)
  for (let at = 0; at < 43; at++) {
    const digits = new Set(secrets.map(secret => secret[at])).size
    if (digits < 50) t.fail(`only ${digits} of 62 at ${at}`)
  }
})

t.test('isWellFormedApiKey refuses a key with any one character changed', async t => {
  const key = generateApiKey()
  const changed = [...key].map((digit, at) => key.slice(0, at) + (digit === 'x' ? 'y' : 'x') + key.slice(at + 1))
  t.strictSame(changed.filter(isWellFormedApiKey), [])
})

t.test('isWellFormedApiKey refuses text that is not a key', async t => {
  const key = generateApiKey()
  for (const text of [
    '',
    '000000', // the checksum of no text
    'mb_',
    key.slice(0, -1),
    `${key}0`,
    ` ${key}`,
    `${key}\n`,
    key.slice(3),
    `re_${key.slice(3)}`,
    key.replace('mb_', 'MB_'),
  ]) {
    t.notOk(isWellFormedApiKey(text))
  }
})

t.test('hashApiKey returns the HMAC of the key under the pepper', async t => {
  const pepper = Buffer.alloc(32, 7)
  const key = generateApiKey()
  t.ok(hashApiKey(key, pepper).equals(createHmac('sha256', pepper).update(key).digest()))
  t.notOk(hashApiKey(key, pepper).equals(hashApiKey(key, Buffer.alloc(32, 8))))
  t.equal(hashApiKey(key, pepper).length, 32)
})

t.test('apiKeyPrefix returns the first 8 characters', async t => {
  t.equal(apiKeyPrefix('mb_1a2b3c4d5e6f'), 'mb_1a2b3')
})
