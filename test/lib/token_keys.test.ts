import { createHmac, randomBytes } from 'node:crypto'
import t from 'tap'
import { Hmac } from '#lib/token_keys.ts'

t.test('an HMAC is that of Node, whatever the lengths of the key and the data', async t => {
  for (let n = 0; n < 300; n++) {
    const [key, data] = [randomBytes(n % 65), randomBytes(n)]
    t.strictSame(new Hmac(key).digest(data), createHmac('sha256', key).update(data).digest(), `${n}`)
  }
})

t.test('an HMAC with a key longer than a block is refused', async t => {
  t.throws(() => new Hmac(randomBytes(65)), RangeError)
})
