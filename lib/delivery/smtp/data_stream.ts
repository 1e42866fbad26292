import { Readable } from 'node:stream'
import type { Outgoing } from '#lib/delivery/transport.ts'

/** Bytes of a message written at a time. Bytes that the server has not accepted hold back the rest, and the fence. */
const SLICE = 64 * 1024

/** `isInStep`: the last reply is the reply to DATA, as far as can be told. */
type ConnectionState = { isOpen: () => boolean; isInStep: () => boolean }

/** One attempt to send a message. Its stream yields the bytes, waits for the fence, and only then ends, which writes the dot. */
export class Attempt {
  /** `pre`: no dot yet; `refused`: the fence refused the dot, so it is not written; `dot`: it is written. */
  phase: 'pre' | 'refused' | 'dot' = 'pre'
  /** The server has asked for the content. */
  isBegun = false
  onDot: () => void = () => {}
  readonly content: Readable

  constructor(outgoing: Outgoing, connection: ConnectionState) {
    const { length } = outgoing.message.bytes
    let position = 0
    const push = () => {
      if (this.content.destroyed) return
      const slice = outgoing.message.bytes.subarray(position, position + SLICE)
      position += slice.length
      this.content.push(slice)
      if (position >= length) void this.#end(outgoing, connection)
    }
    this.content = new Readable({
      highWaterMark: SLICE,
      read: () => {
        if (position >= length) return
        const isFirst = !this.isBegun
        if (isFirst && !connection.isInStep()) {
          this.content.destroy(new Error('the replies of the server do not match our commands'))
          return
        }
        this.isBegun = true
        // A server that accepts everything at once would get a large message in one turn of the event loop.
        if (isFirst) push()
        else setImmediate(push)
      },
    })
    // The session reports a destroyed stream itself; an unhandled error event would end the process.
    this.content.on('error', () => {})
  }

  async #end(outgoing: Outgoing, connection: ConnectionState): Promise<void> {
    let allowed = false
    let cause: Error | undefined
    try {
      allowed = await outgoing.fence()
      // Processes pending input first, so that no dot is written if the connection has closed.
      await new Promise(resolve => setImmediate(resolve))
    } catch (error) {
      cause = error as Error
    }
    if (!allowed) {
      this.phase = 'refused'
      this.content.destroy(cause ?? new Error('the lease was lost'))
    } else if (connection.isOpen()) {
      this.phase = 'dot'
      this.onDot()
      this.content.push(null)
    }
    // If the connection closed meanwhile, no dot was written, so it remains safe to send again.
  }
}
