import { createHash } from 'node:crypto'
import { TimeSlice } from '#lib/async/time_slice.ts'
import { jsonPieces } from './write_json.ts'

/**
 * Returns parsed JSON in the form of RFC 8785: keys sorted by UTF-16 units, no white space. Undefined members are left out.
 * Recursive: the caller limits the depth (`parseJson`).
 */
export function canonicalJson(value: unknown): string {
  return [...jsonPieces(value, true)].join('')
}

/** Returns a SHA-256 of method, route and body: the same for two requests that ask for the same thing. */
export async function fingerprint(method: string, route: string, body: unknown): Promise<Buffer> {
  const slice = new TimeSlice()
  const sha256 = createHash('sha256').update(`${method}\n${route}\n`)
  for (const piece of jsonPieces(body, true)) {
    sha256.update(piece)
    if (slice.isOver) await slice.pause()
  }
  return sha256.digest()
}
