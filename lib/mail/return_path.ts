import { timingSafeEqual } from 'node:crypto'
import type { Secrets } from '#lib/secrets.ts'

// RFC 4648 6, in lower case: local parts lose their case on the way back.
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
const ID_BYTES = 16
const MAC_BYTES = 10
const FORM = /^b-[a-z2-7]{42}$/

type Signer = Pick<Secrets, 'sign'>

/**
 * The local part that bounces of one delivery come back to: `b-` and 42 base32 digits of its id (a UUID, 16 bytes) and a
 * 10-byte HMAC, 44 characters of the 64 that RFC 5321 4.5.3.1.1 allows.
 */
export function returnPathLocal(delivery_id: string, secrets: Signer): string {
  const id = Buffer.from(delivery_id.replaceAll('-', ''), 'hex')
  return `b-${base32(Buffer.concat([id, secrets.sign('return_path', id).subarray(0, MAC_BYTES)]))}`
}

/** The id that `returnPathLocal` was given, in any case of letters, or null when we did not write it. */
export function parseReturnPathLocal(local: string, secrets: Signer): string | null {
  const written = local.toLowerCase()
  if (!FORM.test(written)) return null
  const hex = fromBase32(written.slice(2)).toString('hex', 0, ID_BYTES)
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  return timingSafeEqual(Buffer.from(written), Buffer.from(returnPathLocal(id, secrets))) ? id : null
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
