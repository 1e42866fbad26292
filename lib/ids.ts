import { randomFillSync, randomInt } from 'node:crypto'
import { v7 } from 'uuid'
import { now } from './clock.ts'

/** If the clock is set back by at most this, ids continue from the last time, so that ids of one request stay in order. */
const SMALL_STEP_MS = 1_000

/** Random bytes for the next ids, fetched in bulk: one fetch per id would be most of the cost of an id. */
const random = Buffer.alloc(16 * 256)
let used = random.length

let msecs = 0
let seq = 0

/**
 * Returns a UUIDv7 (RFC 9562 5.7) of the current time by the database's clock. It is greater than all earlier ids of this process,
 * unless the clock was set back by more than SMALL_STEP_MS. Lists are sorted by id, and searches use the time in it.
 */
export function newId(): string {
  const time = now().getTime()
  const isAnotherTime = time > msecs || time < msecs - SMALL_STEP_MS
  seq = isAnotherTime ? randomInt(2 ** 31) : seq + 1
  if (isAnotherTime) msecs = time
  return v7({ msecs, seq, random: nextRandom() })
}

function nextRandom(): Buffer {
  if (used === random.length) {
    randomFillSync(random)
    used = 0
  }
  used += 16
  return random.subarray(used - 16, used)
}

/** Tells whether a text has the form of a UUID, of any version. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text)
}

/** Length of an id in bytes: a UUID in binary form. */
export const ID_BYTES = 16

export function bytesOfId(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

/** Returns the id whose 16 bytes begin at this offset. */
export function idAt(bytes: Buffer, at: number): string {
  const hex = bytes.toString('hex', at, at + ID_BYTES)
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
