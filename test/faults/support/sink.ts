import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { parseArgs } from 'node:util'
import { type Entry, openLedger } from './sink_ledger.ts'
import { serve } from './sink_session.ts'

/** What goes for every connection is read anew at each, so that a test may change it. */
export type SinkOptions = {
  host?: string
  port?: number
  /** Appended to before a message is answered. */
  ledger_file?: string
  /** Only counts, for benchmarks. */
  discard?: boolean
  /** Gets each message whole, for the recipients it was taken over for. */
  onMessage?: (rcpts: string[], content: Buffer) => void
  /** Takes messages over and does not reply, until `speak`. */
  silent?: boolean
  /** Instead of `220 sink`; `dribble` never gets to the end of it. 421 closes the connection. */
  greeting?: string
  /** The answer to EHLO, such as `502 5.5.1 What?`. */
  ehlo?: string
  /** The answer to STARTTLS, after which it speaks no TLS. */
  starttls?: string
}

export type Sink = {
  port: number
  url: string
  ledger: Entry[]
  /** Since the start: connections made, and messages taken over (one per recipient). */
  readonly connections: number
  readonly messages: number
  /** Resolves as soon as so many messages were taken over since the start. */
  arrived(messages: number): Promise<void>
  /** Gives the replies that are owed, and all later ones at once. */
  speak(): void
  close(): Promise<void>
}

/**
 * An SMTP server that does as the local part of the recipient says, and keeps a ledger of what it took over:
 *
 *     ok...                        takes it over, as does everything not named here
 *     tmp-451... perm-550...       that reply to RCPT; also reply-CODE-ENHANCED..., multiline-CODE..., 8bit-CODE...
 *     data-CODE-ENHANCED...        that reply to the final dot (ENHANCED is optional; 421 closes the connection)
 *     grey-N... stall-N...         451, or no reply, to RCPT the first N times, counted per recipient
 *     421... garbage... dribble... to RCPT: closes; answers no SMTP; answers a byte at a time, for ever
 *     drop-pre-dot... drop-mid-body...    hangs up after 354, or after the first of the content
 *     drop-post-dot... hang-post-dot...   takes it over and hangs up, or takes it over and is silent
 *     slow250-MS...                takes it over and says so MS ms later
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
    const { greeting, ehlo, starttls } = options
    serve(socket, { greeting, ehlo, starttls, attempts, take, hold })
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

/** As a process of its own it outlives the one that sends. Prints its port, and with SIGTERM what it counted. */
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
