import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

const MIN_LENGTH = 32
const VERSION = 1
const KEY_ID_LENGTH = 4
const NONCE_LENGTH = 12
const TAG_LENGTH = 16
const HEADER_LENGTH = 1 + KEY_ID_LENGTH
const TAG_AT = HEADER_LENGTH + NONCE_LENGTH
const TEXT_AT = TAG_AT + TAG_LENGTH

/** All secrets that are derived from SECRET_KEY. */
export type Secrets = {
  /** 32 bytes, for `hashApiKey`. */
  pepper: Buffer
  /**
   * Encrypts with AES-256-GCM. Format: version byte, key id (4), nonce (12), tag (16), ciphertext. `context` names the place
   * where the result is stored, `table|column|row|account`: it cannot be opened at any other place.
   */
  seal(plaintext: Buffer, context: string): Buffer
  /** Decrypts. @throws {Error} if it was sealed with another SECRET_KEY, was changed, or was sealed with another context. */
  open(sealed: Buffer, context: string): Buffer
  /**
   * Returns an HMAC-SHA-256 of 32 bytes for a token. `purpose` is a fixed word, so that a token of one purpose is not valid for
   * another.
   */
  sign(purpose: string, data: Buffer): Buffer
}

/** `secret_key` is any text of at least 32 characters. The same text always derives the same secrets. */
export function createSecrets(secret_key: string): Secrets {
  if (secret_key.length < MIN_LENGTH) throw new Error(`SECRET_KEY is shorter than ${MIN_LENGTH} characters`)
  const key = derive(secret_key, 'seal')
  const header = Buffer.concat([Buffer.of(VERSION), hash('sha256', key, 'buffer').subarray(0, KEY_ID_LENGTH)])
  const sealing = createSecretKey(key)
  const signing = createSecretKey(derive(secret_key, 'sign')) // with a plain Buffer each signature costs five times as much
  return {
    pepper: derive(secret_key, 'api_key'),
    seal: (plaintext, context) => seal(sealing, header, plaintext, context),
    open: (sealed, context) => open(sealing, header, sealed, context),
    sign: (purpose, data) => createHmac('sha256', signing).update(`${purpose}\0`).update(data).digest(),
  }
}

// RFC 5869. The purpose is in the label, so that one secret reveals nothing about another.
function derive(secret_key: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret_key, '', `mailbrook ${purpose}`, 32))
}

function seal(key: KeyObject, header: Buffer, plaintext: Buffer, context: string): Buffer {
  const nonce = randomBytes(NONCE_LENGTH)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_LENGTH })
  cipher.setAAD(Buffer.concat([header, Buffer.from(context)]))
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()])
  return Buffer.concat([header, nonce, cipher.getAuthTag(), ciphertext])
}

function open(key: KeyObject, header: Buffer, sealed: Buffer, context: string): Buffer {
  if (sealed.length < TEXT_AT || sealed[0] !== VERSION) throw new Error('This is not a sealed secret')
  if (!sealed.subarray(0, HEADER_LENGTH).equals(header)) {
    throw new Error('SECRET_KEY does not fit: this secret was sealed with another one')
  }
  const nonce = sealed.subarray(HEADER_LENGTH, TAG_AT)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_LENGTH })
  decipher.setAAD(Buffer.concat([header, Buffer.from(context)]))
  decipher.setAuthTag(sealed.subarray(TAG_AT, TEXT_AT))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(TEXT_AT)), decipher.final()])
  } catch (cause) {
    throw new Error(`The sealed secret of ${context} was changed or moved`, { cause })
  }
}
