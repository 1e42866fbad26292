import { createHmac, randomBytes } from 'node:crypto'
import t from 'tap'
import { Hmac } from '#lib/token_keys.ts'

t.test('Hmac equals the HMAC of Node for keys and data of any length', async t => {
  for (let n = 0; n < 300; n++) {
    const [key, data] = [randomBytes(n % 65), randomBytes(n)]
    t.strictSame(new Hmac(key).digest(data), createHmac('sha256', key).update(data).digest(), `${n}`)
  }
})

t.test('Hmac refuses keys longer than a block', async t => {
  t.throws(() => new Hmac(randomBytes(65)), RangeError)
})
