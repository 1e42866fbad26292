import { randomBytes, timingSafeEqual } from 'node:crypto'
import { now } from '#lib/clock.ts'
import type { Secrets } from '#lib/secrets.ts'

/** How long a challenge is valid, in seconds. */
export const CHALLENGE_SECONDS = 300
const EXPIRY_BYTES = 6
const RANDOM_BYTES = 16
const PROOF_AT = EXPIRY_BYTES + RANDOM_BYTES
const PROOF_BYTES = 32

/**
 * Creates a challenge for a passkey (WebAuthn level 3, section 13.4.3): its expiry, 16 random bytes, and a proof that this server
 * made it, so that it need not be stored. `purpose`: what the passkey is for, and who asks.
 */
export function createChallenge(secrets: Secrets, purpose: string): Uint8Array<ArrayBuffer> {
  const head = Buffer.concat([Buffer.alloc(EXPIRY_BYTES), randomBytes(RANDOM_BYTES)])
  head.writeUIntBE(seconds() + CHALLENGE_SECONDS, 0, EXPIRY_BYTES)
  return new Uint8Array([...head, ...proofOf(secrets, purpose, head)])
}

/** Tells whether a challenge is ours and still valid. `challenge` is in base64url, as browsers return it. */
export function isChallenge(secrets: Secrets, purpose: string, challenge: string): boolean {
  const bytes = Buffer.from(challenge, 'base64url')
  if (bytes.length !== PROOF_AT + PROOF_BYTES || bytes.readUIntBE(0, EXPIRY_BYTES) < seconds()) return false
  return timingSafeEqual(bytes.subarray(PROOF_AT), proofOf(secrets, purpose, bytes.subarray(0, PROOF_AT)))
}

const seconds = () => Math.floor(now().getTime() / 1_000)

function proofOf(secrets: Secrets, purpose: string, head: Buffer): Buffer {
  return secrets.sign('passkey_challenge', Buffer.concat([head, Buffer.from(purpose)]))
}
