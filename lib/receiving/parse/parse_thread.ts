import { move, transferableSymbol, valueSymbol } from 'piscina'
import type { Parsed } from './parsed_message.ts'
import { readMessage, UnreadableError } from './read_message.ts'

/** `parse_message.ts` runs this in a thread. The bytes are moved back, not copied. */
export default async function parse(raw: Uint8Array<ArrayBuffer>): Promise<unknown> {
  const parsed = await read(raw)
  const files = 'message' in parsed ? parsed.message.files.map(file => file.content.buffer) : []
  return move({ [transferableSymbol]: [raw.buffer, ...files], [valueSymbol]: parsed })
}

async function read(raw: Uint8Array<ArrayBuffer>): Promise<Parsed> {
  try {
    return { raw, message: await readMessage(raw) }
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error
    return { raw, refused: error.message }
  }
}

/** See `Threads`. */
export function ready(): void {}
