import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { Test } from 'tap'

/** Only a server that hangs takes so long, even on a busy machine. */
const REPLY_MS = 60_000

/** A client that sends what it is given, byte by byte. */
export class SmtpClient {
  socket: Socket
  /** Everything that the server has sent. */
  heard = ''
  #read = 0
  #news = Promise.withResolvers<void>()

  constructor(socket: Socket) {
    this.socket = socket
    this.#listen()
  }

  #listen(): void {
    this.socket.setNoDelay(true)
    this.socket.setEncoding('latin1')
    this.socket.on('data', (text: string) => {
      this.heard += text
      this.#tell()
    })
    this.socket.on('close', () => this.#tell())
    this.socket.on('error', () => {})
  }

  #tell(): void {
    this.#news.resolve()
    this.#news = Promise.withResolvers()
  }

  write(data: string | Buffer): void {
    this.socket.write(data)
  }

  /** The next reply with all of its lines, or its beginning if the server disconnects. */
  async reply(): Promise<string> {
    const late = sleep(REPLY_MS, undefined, { ref: false }).then(() => {
      const { readyState, localAddress, localPort } = this.socket
      const client = `the client ${localAddress}:${localPort}, whose socket is ${readyState},`
      throw new Error(`${client} got no reply in time after ${JSON.stringify(this.heard.slice(-200))}`)
    })
    late.catch(() => {})
    for (;;) {
      const [found] = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(this.heard.slice(this.#read)) ?? []
      if (found) {
        this.#read += found.length
        return found.trimEnd()
      }
      if (this.socket.readableEnded || this.socket.destroyed) return this.heard.slice(this.#read)
      await Promise.race([this.#news.promise, late])
    }
  }

  async command(line: string): Promise<string> {
    this.write(`${line}\r\n`)
    return this.reply()
  }

  /** Begins a transaction up to the message. */
  async begin(to: string | string[], from = 'a@y.com'): Promise<string> {
    await this.command(`MAIL FROM:<${from}>`)
    for (const recipient of [to].flat()) await this.command(`RCPT TO:<${recipient}>`)
    return this.command('DATA')
  }

  /** Sends a message, lines and dots unchanged; returns the reply. */
  async send(to: string | string[], raw: string | Buffer, from?: string): Promise<string> {
    await this.begin(to, from)
    this.write(raw)
    this.write('\r\n.\r\n')
    return this.reply()
  }

  async upgrade(): Promise<void> {
    this.socket.removeAllListeners('data')
    this.socket = connectTls({ socket: this.socket, rejectUnauthorized: false })
    await once(this.socket, 'secureConnect')
    this.#listen()
  }

  /** Resolves when the server has disconnected. */
  async ended(): Promise<void> {
    if (!this.socket.closed) await once(this.socket, 'close')
  }
}

/** A client that got the greeting and has sent EHLO. */
export async function openClient(t: Pick<Test, 'teardown'>, port: number): Promise<SmtpClient> {
  const client = await connectClient(t, port)
  await client.reply()
  await client.command('EHLO client.test')
  return client
}

/** `from`: the source address, anywhere in 127.0.0.0/8. */
export async function connectClient(t: Pick<Test, 'teardown'>, port: number, from?: string): Promise<SmtpClient> {
  const socket = connect({ port, host: '127.0.0.1', ...(from && { localAddress: from }) })
  t.teardown(() => socket.destroy())
  const client = new SmtpClient(socket)
  await once(socket, 'connect')
  return client
}
