import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { promisify } from 'node:util'

/** The baseline of a drain: only RSA-2048 signatures in the thread pool, 8 at once. Prints its rate. */
const { COUNT = '1000' } = process.env
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const signAsync = promisify<string, Buffer, typeof privateKey, Buffer>(sign)
const data = randomBytes(500)
let left = Number(COUNT)

const start = performance.now()
await Promise.all(
  Array.from({ length: 8 }, async () => {
    while (left-- > 0) await signAsync('sha256', data, privateKey)
  }),
)
console.log(Number(COUNT) / ((performance.now() - start) / 1000))
