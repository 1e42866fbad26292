import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { findClient, networkOf } from '#lib/net/client_address.ts'
import { BoundedConnection } from './connection.ts'
import type { SmtpLimits } from './limits.ts'

type Options = SMTPServerOptions & { limits: SmtpLimits }

/** An SMTP server with limits for its clients. */
export class SmtpListener extends SMTPServer {
  readonly #limits: SmtpLimits
  readonly #open = new Map<string, number>()
  #count = 0

  constructor({ limits, ...options }: Options) {
    super({
      ...options,
      size: limits.size,
      rejectOversized: true,
      maxRecipients: limits.recipients,
      // Our own timer fires first; this one covers states that only the library's timer sees, such as a TLS handshake.
      socketTimeout: limits.command_ms + 5_000,
      closeTimeout: limits.stop_ms,
      hideENHANCEDSTATUSCODES: false,
      hideDSN: true, // nobody sends delivery reports, so the server before us must (RFC 3461)
      disableReverseLookup: true,
      logger: false,
    })
    this.#limits = limits
    // Above this, connections are closed without a reply. Up to it, refused clients get one.
    this.server.maxConnections = 2 * limits.connections + 50
  }

  override connect(socket: Socket): void {
    const connection = new BoundedConnection(this, socket, this.#limits)
    const network = networkOf(findClient(connection.remoteAddress, '', undefined))
    const mine = this.#open.get(network) ?? 0
    if (mine >= this.#limits.connections_per_address) connection.refusal = 'has too many connections from your address'
    else if (this.#count >= this.#limits.connections && !this.#spareOne())
      connection.refusal = 'has too many connections'
    else this.#enter(connection, network, mine)
    this.connections.add(connection)
    connection.on('error', error => this.emit('error', error))
    connection.init()
  }

  /**
   * Ends the session that has been idle longest, to make room. Otherwise a client with enough sessions would keep all others out.
   */
  #spareOne(): boolean {
    let spare: BoundedConnection | null = null
    for (const connection of this.connections as Set<BoundedConnection>) {
      if (connection.refusal === null && connection.idle_ms > (spare?.idle_ms ?? this.#limits.spare_ms))
        spare = connection
    }
    spare?.send(421, '4.3.2 Closing this idle session for another client, try again later')
    return spare !== null
  }

  #enter(connection: BoundedConnection, network: string, mine: number): void {
    this.#open.set(network, mine + 1)
    this.#count++
    // The socket's own event is lost when it is upgraded to TLS.
    connection.once('gone', () => {
      this.#count--
      const left = (this.#open.get(network) as number) - 1
      if (left === 0) this.#open.delete(network)
      else this.#open.set(network, left)
    })
  }

  /** Tells idle clients to come back later, and waits for the others up to the limit. */
  async stop(): Promise<void> {
    const closed = new Promise<void>(resolve => this.close(() => resolve()))
    for (const connection of this.connections) {
      if ((connection as BoundedConnection).isIdle) connection.send(421, '4.3.2 The server is stopping')
    }
    await closed
  }
}
