import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/** The argon2id parameters of OWASP's password storage cheat sheet: 19 MiB, 2 passes, 1 lane. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const TAG_BYTES = 32

const derive = promisify(argon2)

export const MIN_PASSWORD_LENGTH = 10
export const MAX_PASSWORD_LENGTH = 200

/** Hashes a password with argon2id (RFC 9106) and returns it in PHC string format: `$argon2id$v=19$m=19456,t=2,p=1$SALT$TAG`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const tag = await tagOf(password, salt, PARAMETERS)
  const { memory, passes, parallelism } = PARAMETERS
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(salt)}$${encode(tag)}`
}

/**
 * Tells whether a password matches a hash. Without a hash the same work is done, so that the response time does not reveal
 * whether the member exists.
 */
export async function isPassword(password: string, phc: string | null): Promise<boolean> {
  const [, memory, passes, parallelism, salt = '', tag = ''] =
    /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/.exec(phc ?? '') ?? []
  if (memory === undefined) {
    await tagOf(password, Buffer.alloc(SALT_BYTES), PARAMETERS)
    return false
  }
  const parameters = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
  const expected = Buffer.from(tag, 'base64')
  const found = await tagOf(password, Buffer.from(salt, 'base64'), parameters, expected.length)
  return timingSafeEqual(found, expected)
}

/** Normalizes the password, since the same text may be typed in several Unicode forms. */
function tagOf(password: string, nonce: Buffer, parameters: typeof PARAMETERS, tagLength = TAG_BYTES): Promise<Buffer> {
  return derive('argon2id', { message: password.normalize('NFKC'), nonce, tagLength, ...parameters })
}

/** Returns base64 without padding, as in PHC strings. */
function encode(bytes: Buffer): string {
  return bytes.toString('base64').replace(/={1,2}$/, '')
}
