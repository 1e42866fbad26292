import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { Test } from 'tap'
import { waitUntil } from '#test/support/wait_until.ts'

export type Message = { mail_from: string; rcpt_to: string[]; raw: Buffer }
export type Stage = 'connect' | 'mail' | 'rcpt' | 'data'

/** An SMTP server. It greets at the earliest 100 ms after the connection, since smtp-server waits for early talkers. */
export type Inbox = {
  url: string
  /** The accepted messages, in order. */
  messages: Message[]
  /** Refuses from now on; `data` is the reply to the final dot. */
  refuse(code: number, text: string, at?: Stage): void
  accept(): void
  /** Resolves with the messages once there are `count` of them. */
  waitFor(count: number): Promise<Message[]>
  close(): Promise<void>
}

type Options = SMTPServerOptions & { starttls?: boolean; host?: string; port?: number }
type Callback = (error?: Error | null) => void

/** `starttls`: offered, with a self-signed certificate. */
export async function startInbox(t: Pick<Test, 'teardown'>, options: Options = {}): Promise<Inbox> {
  const messages: Message[] = []
  let refusal: { error: Error; at: Stage } | null = null
  const answer = (at: Stage, callback: Callback) => callback(refusal?.at === at ? refusal.error : null)
  const receive = (message: Message, callback: Callback) =>
    answer('data', error => {
      if (!error) messages.push(message)
      callback(error)
    })

  const { host = '127.0.0.1', ...serverOptions } = options
  const server = createServer(serverOptions, answer, receive)
  await new Promise<void>(resolve => server.listen(options.port ?? 0, host, resolve))
  const { port } = server.server.address() as AddressInfo

  let closed: Promise<void> | undefined
  const close = () => (closed ??= new Promise(resolve => server.close(resolve)))
  t.teardown(close)
  return {
    url: `smtp://${host}:${port}`,
    messages,
    refuse: (code, text, at = 'rcpt') => {
      refusal = { error: Object.assign(new Error(text), { responseCode: code }), at }
    },
    accept: () => {
      refusal = null
    },
    waitFor: async count => {
      await waitUntil(
        () => messages.length >= count,
        () => `${messages.length} of ${count} messages have arrived`,
      )
      return messages
    },
    close,
  }
}

function createServer(
  { starttls = false, ...options }: Options,
  answer: (at: Stage, callback: Callback) => void,
  receive: (message: Message, callback: Callback) => void,
): SMTPServer {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: starttls ? ['AUTH'] : ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 100, // ms, for idle connections of clients with a pool
    onConnect: (_session, callback) => answer('connect', callback),
    onMailFrom: (_address, _session, callback) => answer('mail', callback),
    onRcptTo: (_address, _session, callback) => answer('rcpt', callback),
    onData: async (stream, { envelope }, callback) => {
      const raw = await buffer(stream).catch(() => null)
      if (!raw) return // the client disconnected
      const mail_from = envelope.mailFrom ? envelope.mailFrom.address : ''
      receive({ mail_from, rcpt_to: envelope.rcptTo.map(rcpt => rcpt.address), raw }, callback)
    },
    ...options,
  })
  return server.on('error', () => {}) // for connections that clients reset
}
