import { randomBytes } from 'node:crypto'
import { email, type Post } from './load.ts'
import type { Stage } from './stage.ts'

const SMALL_FILE = 40_000 // bytes, read with its body
const LARGE_FILE = 1_500_000 // stored while it is uploaded
const BATCH = 5

/** Posts in turn small emails, emails with a small file, emails with a large file, and batches. */
export function composeMixed(stage: Stage, n: number): Post {
  const single = email(stage, n)
  const file = (size: number) => ({
    ...single,
    attachments: [{ filename: 'a.bin', content: randomBytesOf(n, size).toString('base64') }],
  })
  if (n % 8 === 1) return { path: '/api/emails', body: file(SMALL_FILE) }
  if (n % 32 === 2) return { path: '/api/emails', body: file(LARGE_FILE) }
  if (n % 8 === 3) {
    const emails = Array.from({ length: BATCH }, (_, i) => email(stage, `${n}-${i}`, n * BATCH + i))
    return { path: '/api/emails/batch', body: emails }
  }
  return { path: '/api/emails', body: single }
}

const BYTES = randomBytes(LARGE_FILE)

/** The file of a number: always the same, and different for every number. */
function randomBytesOf(n: number, size: number): Buffer {
  const bytes = Buffer.from(BYTES.subarray(0, size))
  bytes.writeUInt32LE(n)
  return bytes
}
