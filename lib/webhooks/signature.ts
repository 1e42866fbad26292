import { createHmac, createSecretKey, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'

/** Returns `whsec_` and 24 random bytes in base64, as the Standard Webhooks specification defines. */
export function newSigningSecret(): string {
  return PREFIX + randomBytes(24).toString('base64')
}

/** Returns the headers that prove that an event comes from here. */
export type SignEvent = (event: { id: string; body: Buffer }, at: Date) => Record<string, string>

/**
 * Signs with two schemes and one secret, over the raw bytes of the body:
 *
 * - `X-Service-Signature`: HMAC-SHA-256 in lower-case hex of `<timestamp>.<body>`, keyed with the whole secret as UTF-8;
 *   `X-Service-Timestamp` in seconds since 1970.
 * - `webhook-signature` of Standard Webhooks: `v1,` and HMAC-SHA-256 in base64 of `<id>.<timestamp>.<body>`, keyed with the
 *   bytes that the base64 after the prefix encodes.
 */
export function createSignEvent(secret: string): SignEvent {
  const whole = createSecretKey(Buffer.from(secret))
  const decoded = createSecretKey(Buffer.from(secret.slice(PREFIX.length), 'base64'))
  return ({ id, body }, at) => {
    const timestamp = String(Math.floor(at.getTime() / 1_000))
    const message_id = `msg_${id}`
    const standard = createHmac('sha256', decoded).update(`${message_id}.${timestamp}.`).update(body).digest('base64')
    return {
      'x-service-timestamp': timestamp,
      'x-service-signature': createHmac('sha256', whole).update(`${timestamp}.`).update(body).digest('hex'),
      'webhook-id': message_id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${standard}`,
    }
  }
}
