import { createHmac, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const PREFIX = 'mb_'
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
// Number of base62 digits that 32 bytes and 4 bytes can need.
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6
const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`)
const PART = new RegExp(`${PREFIX}[0-9A-Za-z]{20,}`, 'g')

/** Returns a new key: `mb_`, 32 random bytes as 43 base62 digits, and a CRC-32 of all before it as 6 digits. 52 characters. */
export function generateApiKey(): string {
  const key = PREFIX + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_LENGTH)
  return key + checksum(key)
}

/**
 * Tells whether a text has the form of a key and the right checksum, so that typos and guesses cost no query. Does not tell
 * whether the key exists.
 */
export function isWellFormedApiKey(text: string): boolean {
  return FORM.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)))
}

/**
 * Returns an HMAC-SHA-256 of 32 bytes, which is stored and looked up. A key has 256 bits of entropy, so a slow hash adds nothing.
 */
export function hashApiKey(key: string, pepper: Buffer): Buffer {
  return createHmac('sha256', pepper).update(key).digest()
}

/** Returns the first 8 characters, which may be shown to tell keys apart. */
export function apiKeyPrefix(key: string): string {
  return key.slice(0, 8)
}

/** Redacts keys, and parts of keys, in texts that are stored, such as a path into which somebody pasted a key. */
export function hideApiKeys(text: string): string {
  return text.includes(PREFIX) ? text.replace(PART, '[redacted]') : text
}

function checksum(text: string): string {
  return base62(BigInt(crc32(text)), CHECKSUM_LENGTH)
}

function base62(number: bigint, length: number): string {
  let digits = ''
  for (let rest = number; rest > 0n; rest /= 62n) digits = DIGITS.charAt(Number(rest % 62n)) + digits
  return digits.padStart(length, '0')
}
