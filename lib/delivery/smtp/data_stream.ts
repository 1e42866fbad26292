import { Readable } from 'node:stream'
import type { Outgoing } from '#lib/delivery/transport.ts'

/** Of a message, handed over at a time: what the server has not taken yet holds back the rest, and the fence. */
const SLICE = 64 * 1024

/** One message on its way: yields the bytes, then waits for the fence, and only then ends, which writes the dot. */
export class Attempt {
  phase: 'pre' | 'refused' | 'dot' = 'pre'
  /** The server has asked for the content. */
  isBegun = false
  onDot: () => void = () => {}
  readonly content: Readable

  constructor(outgoing: Outgoing, isOpen: () => boolean) {
    const { length } = outgoing.message.bytes
    let position = 0
    const push = () => {
      if (this.content.destroyed) return
      const slice = outgoing.message.bytes.subarray(position, position + SLICE)
      position += slice.length
      this.content.push(slice)
      if (position >= length) void this.#end(outgoing, isOpen)
    }
    this.content = new Readable({
      highWaterMark: SLICE,
      read: () => {
        if (position >= length) return
        const isFirst = !this.isBegun
        this.isBegun = true
        // A server that takes all it is given would get a large message in one turn of the event loop.
        if (isFirst) push()
        else setImmediate(push)
      },
    })
    // The session reports a destroyed stream itself; an unheard error event would end the process.
    this.content.on('error', () => {})
  }

  async #end(outgoing: Outgoing, isOpen: () => boolean): Promise<void> {
    let allowed = false
    let cause = new Error('the lease was lost')
    try {
      allowed = await outgoing.fence()
      // What has arrived meanwhile is heard first: a connection that is gone gets no dot.
      await new Promise(resolve => setImmediate(resolve))
    } catch (error) {
      cause = error as Error
    }
    if (!allowed) {
      this.phase = 'refused'
      this.content.destroy(cause)
    } else if (isOpen()) {
      this.phase = 'dot'
      this.onDot()
      this.content.push(null)
    }
    // Closed while we waited: no dot was written, so it stays safe to send again.
  }
}
