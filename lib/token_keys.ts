import { createCipheriv, createSecretKey, hash, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'

/** A key that signs tokens in links. Its kid, 1 to 255, is part of every token made with it. */
export type TokenKey = { kid: number; key: Buffer }

export const TAG_BYTES = 10
const IV_BYTES = 16
const BLOCK_BYTES = 64
const DIGEST_BYTES = 32

/** The byte for the purpose of a token. It is signed too, so that a token of one purpose is not valid for another. */
export const PURPOSES = { unsubscribe: 1, unsubscribe_by_email: 2, recipient: 3, link: 4 } as const

/** Signs the tokens in links with one key, and verifies those made with any of the keys. */
export class TokenKeys {
  readonly #keys: Map<number, { signing: Hmac; hiding: KeyObject }>
  /** The kid of the key that signs. */
  readonly signing: number

  /** @param signing the kid of the key that signs. Default: the highest. */
  constructor(keys: TokenKey[], signing?: number) {
    this.#keys = new Map(
      keys.map(({ kid, key }) => {
        const hiding = createSecretKey(derive(key, 'hide')) // with a plain Buffer each use costs ten times as much
        return [kid, { signing: new Hmac(derive(key, 'sign')), hiding }]
      }),
    )
    this.signing = signing ?? Math.max(...this.#keys.keys())
  }

  get kids(): number[] {
    return [...this.#keys.keys()]
  }

  has(kid: number): boolean {
    return this.#keys.has(kid)
  }

  /**
   * Returns the first 10 bytes of an HMAC-SHA-256. The data must begin with its purpose, so that a token of one purpose is not
   * valid for another.
   */
  sign(kid: number, data: Buffer): Buffer {
    return this.digest(kid, data).subarray(0, TAG_BYTES)
  }

  /** Returns the whole HMAC-SHA-256, 32 bytes, which callers can split into three tags. */
  digest(kid: number, data: Buffer): Buffer {
    return this.#of(kid).signing.digest(data)
  }

  /** Compares in constant time. */
  verify(kid: number, data: Buffer, tag: Buffer): boolean {
    return tag.length === TAG_BYTES && timingSafeEqual(this.sign(kid, data), tag)
  }

  /**
   * Encrypts text so that readers of a link cannot see it, or decrypts it, with AES-256-CTR. The initial counter is the tag of the
   * whole token. The tag covers the plaintext too (as in RFC 5297), so that no two tokens share a key stream.
   */
  hide(kid: number, tag: Buffer, text: Buffer): Buffer {
    const iv = Buffer.alloc(IV_BYTES)
    tag.copy(iv)
    return createCipheriv('aes-256-ctr', this.#of(kid).hiding, iv).update(text)
  }

  #of(kid: number) {
    const key = this.#keys.get(kid)
    if (!key) throw new Error(`there is no token key ${kid}`)
    return key
  }
}

function derive(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `mailbrook token ${purpose}`, 32))
}

/** HMAC-SHA-256 (RFC 2104). Two calls of `hash` take half the time of createHmac for data as short as a token's. */
export class Hmac {
  readonly #inner: Buffer
  readonly #outer: Buffer

  constructor(key: Buffer) {
    if (key.length > BLOCK_BYTES) throw new RangeError(`a key has at most ${BLOCK_BYTES} bytes`)
    this.#inner = Buffer.alloc(BLOCK_BYTES, 0x36)
    this.#outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, 0x5c)
    for (const [n, byte] of key.entries()) {
      this.#inner[n] = 0x36 ^ byte
      this.#outer[n] = 0x5c ^ byte
    }
  }

  digest(data: Buffer): Buffer {
    const inner = hash('sha256', Buffer.concat([this.#inner, data]), 'binary')
    this.#outer.write(inner, BLOCK_BYTES, 'binary')
    return Buffer.from(hash('sha256', this.#outer, 'binary'), 'binary')
  }
}
