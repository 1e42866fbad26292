import { createHash } from 'node:crypto'
import { Turns } from '#lib/async/turns.ts'
import { jsonPieces } from './write_json.ts'

/**
 * Parsed JSON as RFC 8785 writes it: keys in order of their UTF-16 units, no white space. Members that are undefined are
 * left out. Recursive: the caller bounds the depth (`parseJson`).
 */
export function canonicalJson(value: unknown): string {
  return [...jsonPieces(value, true)].join('')
}

/** SHA-256 over method, route and body: two requests with the same one ask for the same thing. */
export async function fingerprint(method: string, route: string, body: unknown): Promise<Buffer> {
  const turns = new Turns()
  const sha256 = createHash('sha256').update(`${method}\n${route}\n`)
  for (const piece of jsonPieces(body, true)) {
    sha256.update(piece)
    if (turns.isOver) await turns.rest()
  }
  return sha256.digest()
}
