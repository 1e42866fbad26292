import { hash, randomBytes } from 'node:crypto'

/** Slots per table: 12 MB. */
const SLOTS = 2 ** 20

/** 200 MB, for 12 million addresses. */
const MAX_TABLES = 16

type Sizes = { slots: number; max_tables: number }

/**
 * The number of the first record of a file with an address, for 12 million addresses; repetitions of further ones are not found.
 * Another table is added when one is full, since copying a large one would hold up everything else.
 */
export class FirstRecords {
  readonly #sizes: Sizes
  readonly #tables: Table[] = []
  /** So that nobody can choose addresses whose hashes collide. */
  readonly #key = randomBytes(16).toString('hex')

  constructor(sizes: Sizes = { slots: SLOTS, max_tables: MAX_TABLES }) {
    this.#sizes = sizes
  }

  /** Returns the number of the first record with the address; 0 if it is this one. `n`: its number, from 1. */
  find(address: string, n: number): number {
    const digest = hash('sha256', this.#key + address, 'buffer')
    for (const table of this.#tables) {
      const first = table.find(digest)
      if (first > 0) return first
    }
    this.#roomyTable()?.add(digest, n)
    return 0
  }

  #roomyTable(): Table | null {
    const last = this.#tables.at(-1)
    if (last && !last.isFull) return last
    if (this.#tables.length === this.#sizes.max_tables) return null
    const added = new Table(this.#sizes.slots)
    this.#tables.push(added)
    return added
  }
}

/** Numbers by the first 64 bits of a digest: an open hash table with linear probing. */
class Table {
  /** Three words per slot: both halves of the key, and the number, which is 0 in an empty slot. */
  readonly #slots: Uint32Array
  readonly #slot_count: number
  #used = 0

  constructor(slot_count: number) {
    this.#slots = new Uint32Array(3 * slot_count)
    this.#slot_count = slot_count
  }

  get isFull(): boolean {
    return this.#used >= this.#slot_count * 0.75
  }

  find(digest: Buffer): number {
    return this.#slots[this.#place(digest) + 2] as number
  }

  add(digest: Buffer, n: number): void {
    const place = this.#place(digest)
    this.#slots[place] = digest.readUInt32LE(0)
    this.#slots[place + 1] = digest.readUInt32LE(4)
    this.#slots[place + 2] = n
    this.#used++
  }

  /** Where the key is, or the empty slot where it belongs. */
  #place(digest: Buffer): number {
    const [low, high] = [digest.readUInt32LE(0), digest.readUInt32LE(4)]
    const slots = this.#slots
    for (let slot = digest.readUInt32LE(8) % this.#slot_count; ; slot = (slot + 1) % this.#slot_count) {
      const place = 3 * slot
      if (slots[place + 2] === 0 || (slots[place] === low && slots[place + 1] === high)) return place
    }
  }
}
