import { createHmac, randomBytes } from 'node:crypto'

/** Returns a token for a cookie or a link: 32 random bytes in base64url. */
export function generateToken(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * Returns an HMAC-SHA-256 of 32 bytes, which is stored in place of the token. A token of one purpose is not valid for another.
 */
export function hashToken(purpose: 'session' | 'member_link', token: string, pepper: Buffer): Buffer {
  return createHmac('sha256', pepper).update(`${purpose}\0${token}`).digest()
}
