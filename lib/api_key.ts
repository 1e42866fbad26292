import { createHmac, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const PREFIX = 'mb_'
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
// Base62 digits that 32 bytes and 4 bytes may need.
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6
const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`)
const PART = new RegExp(`${PREFIX}[0-9A-Za-z]{20,}`, 'g')

/** A new key: `mb_`, 32 random bytes as 43 base62 digits, and 6 digits of CRC-32 over all before them. 52 characters. */
export function generateApiKey(): string {
  const key = PREFIX + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_LENGTH)
  return key + checksum(key)
}

/** Whether a text can be a key at all: typos and guesses fail here and cost no query. It proves nothing more. */
export function isWellFormedApiKey(text: string): boolean {
  return FORM.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)))
}

/** HMAC-SHA-256, 32 bytes: what is stored and looked up. A key has 256 bits of entropy, so a slow hash adds nothing. */
export function hashApiKey(key: string, pepper: Buffer): Buffer {
  return createHmac('sha256', pepper).update(key).digest()
}

/** The first 8 characters, which may be shown to tell keys apart. */
export function apiKeyPrefix(key: string): string {
  return key.slice(0, 8)
}

/** Also of a key of which only a part is there; for texts that are kept, such as a path that a key was pasted into. */
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
