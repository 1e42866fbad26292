import { timingSafeEqual } from 'node:crypto'
import type { Secrets } from '#lib/secrets.ts'

// RFC 4648 6, in lower case: bounces may change the case of local parts.
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
const ID_BYTES = 16
const TAG_BYTES = 10
const FORM = /^[a-z]-[a-z2-7]{42}$/

type Signer = Pick<Secrets, 'sign'>

/** Returns the local part to which bounces of a delivery return: `b-` and the signed id of the delivery. */
export function returnPathLocal(delivery_id: string, secrets: Signer): string {
  return writeSignedLocal('b', delivery_id, signWith(secrets))
}

/** Returns the id that was given to `returnPathLocal`, ignoring case, or null if this local part is not ours. */
export function parseReturnPathLocal(local: string, secrets: Signer): string | null {
  return parseSignedLocal('b', local, signWith(secrets))
}

function signWith(secrets: Signer): SignId {
  return id => secrets.sign('return_path', id)
}

/** Signs the bytes of an id, with at least 10 bytes. */
export type SignId = (id: Buffer) => Buffer

/**
 * Returns a local part that names a row: a letter, `-` and 42 base32 digits of the row's id (a UUID, 16 bytes) and a 10-byte
 * signature: 44 of the 64 characters that RFC 5321 4.5.3.1.1 allows.
 */
export function writeSignedLocal(letter: string, id: string, sign: SignId): string {
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex')
  return `${letter}-${base32(Buffer.concat([bytes, sign(bytes).subarray(0, TAG_BYTES)]))}`
}

/** Returns the id that was given to `writeSignedLocal`, ignoring case, or null if this local part is not ours. */
export function parseSignedLocal(letter: string, local: string, sign: SignId): string | null {
  const written = local.toLowerCase()
  if (!FORM.test(written) || !written.startsWith(letter)) return null
  const hex = fromBase32(written.slice(2)).toString('hex', 0, ID_BYTES)
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  return timingSafeEqual(Buffer.from(written), Buffer.from(writeSignedLocal(letter, id, sign))) ? id : null
}

function base32(bytes: Buffer): string {
  let text = ''
  let bits = 0
  let held = 0
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET.charAt((held >> (bits - 5)) & 31)
  }
  return bits ? text + ALPHABET.charAt((held << (5 - bits)) & 31) : text
}

function fromBase32(text: string): Buffer {
  const bytes: number[] = []
  let bits = 0
  let held = 0
  for (const digit of text) {
    held = ((held << 5) | ALPHABET.indexOf(digit)) & 0xfff
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes.push((held >> bits) & 255)
    }
  }
  return Buffer.from(bytes)
}
