import type { Socket } from 'node:net'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'

/**
 * A session whose client may close its side of the connection before the last reply, as Exim does when it sends QUIT directly after
 * a message. The library would close the other side too: the client would get no reply, and send the message again for days.
 */
export class HalfOpenConnection extends SMTPConnection {
  override _createParser() {
    const parser = super._createParser()
    parser.once('pipe', keepHalfOpen)
    // All commands have their replies now, and no more can come.
    parser.once('finish', () => this.close())
    return parser
  }

  /** A client that leaves during the handshake gets no more replies. */
  override upgrade(...args: Parameters<SMTPConnection['upgrade']>): void {
    this._socket.allowHalfOpen = false
    super.upgrade(...args)
  }
}

function keepHalfOpen(socket: Socket): void {
  socket.allowHalfOpen = true
  // The library writes only to sockets that are open on both sides.
  Object.defineProperty(socket, 'readyState', { get: () => (socket.writable ? 'open' : 'closed') })
}
