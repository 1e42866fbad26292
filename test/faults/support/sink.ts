import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { parseArgs } from 'node:util'
import { type Entry, openLedger } from './sink_ledger.ts'
import { serve } from './sink_session.ts'

/** Options that concern every connection are read at each connection, so that a test may change them. */
export type SinkOptions = {
  host?: string
  port?: number
  /** A file to which an entry is appended before each reply. */
  ledger_file?: string
  /** Counts without keeping entries, for benchmarks. */
  discard?: boolean
  /** Gets each complete message with the recipients for whom it was accepted. */
  onMessage?: (rcpts: string[], content: Buffer) => void
  /** Accepts messages without a reply until `speak`. */
  silent?: boolean
  /** The greeting instead of `220 sink`; `dribble` never finishes it. 421 closes the connection. */
  greeting?: string
  /** The reply to EHLO, such as `502 5.5.1 What?`. */
  ehlo?: string
  /** The reply to STARTTLS; TLS does not follow. */
  starttls?: string
  /** The reply to MAIL, such as `451 4.3.0 Busy`. 421 closes the connection. */
  mail?: string
}

export type Sink = {
  port: number
  url: string
  ledger: Entry[]
  /** The number of connections and accepted messages (one per recipient) since the start. */
  readonly connections: number
  readonly messages: number
  /** Resolves as soon as this many messages were accepted since the start. */
  arrived(messages: number): Promise<void>
  /** Sends the outstanding replies, and all later ones at once. */
  speak(): void
  close(): Promise<void>
}

/**
 * An SMTP server that behaves as the local part of the recipient says, and keeps a ledger of the messages it accepted:
 *
 *     ok...                        accepts, like every local part not listed here
 *     tmp-451... perm-550...       replies so to RCPT; also reply-CODE-ENHANCED..., multiline-CODE..., 8bit-CODE...
 *     data-CODE-ENHANCED...        replies so to the final dot (ENHANCED is optional; 421 closes the connection)
 *     grey-N... stall-N...         replies 451, or nothing, to RCPT the first N times, counted per recipient
 *     421... garbage... dribble... at RCPT: closes; sends no SMTP; replies byte by byte, endlessly
 *     drop-pre-dot... drop-mid-body...    hangs up after 354, or after the first part of the content
 *     drop-post-dot... hang-post-dot...   accepts and hangs up, or accepts and is silent
 *     slow250-MS...                accepts and replies MS ms later
 */
export async function startSink(options: SinkOptions = {}): Promise<Sink> {
  const { host = '127.0.0.1', discard = false } = options
  const ledger = openLedger(options.ledger_file)
  const sockets = new Set<Socket>()
  const counts = { connections: 0, messages: 0 }
  const waiters = new Set<{ messages: number; resolve: () => void }>()
  const attempts = new Map<string, number>()
  const owed: (() => void)[] = []
  const hold = (reply: () => void) => {
    if (options.silent) owed.push(reply)
    return options.silent === true
  }
  const take = (mail_from: string, rcpts: string[], content: Buffer) => {
    counts.messages += rcpts.length
    for (const waiting of waiters) if (counts.messages >= waiting.messages) waiting.resolve()
    if (!discard) ledger.record(mail_from, rcpts, content)
    options.onMessage?.(rcpts, content)
  }

  const server = createServer({ noDelay: true }, socket => {
    counts.connections++
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    const { greeting, ehlo, starttls, mail } = options
    serve(socket, { greeting, ehlo, starttls, mail, attempts, take, hold })
  })
  server.listen(options.port ?? 0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `smtp://${host}:${port}`,
    ledger: ledger.entries,
    get connections() {
      return counts.connections
    },
    get messages() {
      return counts.messages
    },
    arrived: messages =>
      new Promise(resolve => {
        if (counts.messages >= messages) return resolve()
        const waiting = { messages, resolve: () => waiters.delete(waiting) && resolve() }
        waiters.add(waiting)
      }),
    speak() {
      options.silent = false
      for (const reply of owed.splice(0)) reply()
    },
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
      ledger.close()
    },
  }
}

/** As a separate process it outlives the sender. Prints its port, and its counts on SIGTERM. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string' },
      port: { type: 'string', default: '0' },
      ledger: { type: 'string' },
      discard: { type: 'boolean' },
      greeting: { type: 'string' },
      ehlo: { type: 'string' },
      silent: { type: 'boolean' },
    },
  })
  const sink = await startSink({ ...values, port: Number(values.port), ledger_file: values.ledger })
  console.log(sink.port)
  for (const name of ['SIGINT', 'SIGTERM']) {
    process.once(name, () => {
      console.log(JSON.stringify({ connections: sink.connections, messages: sink.messages }))
      sink.close()
    })
  }
}

if (import.meta.main) await main()
