import { move, transferableSymbol, valueSymbol } from 'piscina'
import { embedMessage } from '#lib/mail/mime/embedded_message.ts'
import { layOutMessage, type MessageHead, type MimePart } from './message.ts'

/** Runs in a thread for `compose.ts`. The body is returned as bytes that are moved, not copied. */
export default function layOut(message: MessageHead): unknown {
  const { fields, body } = layOutMessage(message)
  const pieces = body.map(piece => (typeof piece === 'string' ? new Uint8Array(Buffer.from(piece, 'latin1')) : piece))
  const transferred = pieces.flatMap(piece => (piece instanceof Uint8Array ? [piece.buffer] : []))
  const part: MimePart = { fields, body: pieces }
  return move({ [transferableSymbol]: transferred, [valueSymbol]: part })
}

/** `embedMessage` for a long message. Its bytes are moved as well. */
export function embed({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>): unknown {
  const lines = embedMessage(Buffer.from(buffer, byteOffset, length))
  return lines && move(lines)
}
