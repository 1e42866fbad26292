import { createHmac, randomBytes } from 'node:crypto'

/** For a cookie or a link: 32 random bytes in base64url. */
export function generateToken(): string {
  return randomBytes(32).toString('base64url')
}

/** HMAC-SHA-256, 32 bytes: what is stored of a token. One of another purpose does not pass. */
export function hashToken(purpose: 'session' | 'member_link', token: string, pepper: Buffer): Buffer {
  return createHmac('sha256', pepper).update(`${purpose}\0${token}`).digest()
}
