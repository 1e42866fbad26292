/** 16 MB. With a million addresses, about one in 4,000 new ones is reported as repeated. */
const BITS = 2 ** 27

/**
 * A Bloom filter of the addresses of a file. Its size does not depend on the file; the longer the file, the more new addresses
 * are reported as repeated.
 */
export class SeenAddresses {
  readonly #words: Uint32Array

  constructor(bits = BITS) {
    this.#words = new Uint32Array(bits / 32)
  }

  /** Adds an address. Returns false if it was never added before. */
  add(address: string): boolean {
    let [one, other] = [0x811c9dc5, 0x9747b28c]
    for (let at = 0; at < address.length; at++) {
      const code = address.charCodeAt(at)
      one = Math.imul(one ^ code, 0x01000193) // FNV-1a
      other = Math.imul(other, 33) ^ code
    }
    const isFirstSet = this.#set(mix(one))
    return this.#set(mix(other ^ one)) && isFirstSet
  }

  /** Sets a bit; returns whether it was set. */
  #set(hash: number): boolean {
    const bit = hash & (this.#words.length * 32 - 1)
    const word = this.#words[bit >>> 5] as number
    const mask = 1 << (bit & 31)
    this.#words[bit >>> 5] = word | mask
    return (word & mask) !== 0
  }
}

/** Spreads differences in a few bits over all bits (MurmurHash3). */
function mix(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  const rest = Math.imul(half ^ (half >>> 13), 0xc2b2ae35)
  return rest ^ (rest >>> 16)
}
