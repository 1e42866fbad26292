import { randomFillSync, randomInt } from 'node:crypto'
import { v7 } from 'uuid'
import { now } from './clock.ts'

/** When the clock is set back by less, ids go on from where they were: those of one request stay in its order. */
const SMALL_STEP_MS = 1_000

/** For ids to come: to ask for the bytes of each is most of what an id costs. */
const random = Buffer.alloc(16 * 256)
let used = random.length

let msecs = 0
let seq = 0

/**
 * A UUIDv7 (RFC 9562 5.7) of this moment by the database's clock, greater than those this process made before. Lists are
 * in order of ids, and searches go by the time in them.
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

/** Bytes of an id: a UUID without hyphens and letters. */
export const ID_BYTES = 16

export function bytesOfId(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

/** The id whose bytes begin there. */
export function idAt(bytes: Buffer, at: number): string {
  const hex = bytes.toString('hex', at, at + ID_BYTES)
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
