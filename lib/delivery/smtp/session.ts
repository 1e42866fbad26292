import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { type Deadline, TimedStep } from '#lib/async/timed_step.ts'
import type { Outcome, Outgoing } from '#lib/delivery/transport.ts'
import { asksForContent, connect, type Protection, protectionOf, refusalOf, reset, sendMessage } from './connection.ts'
import { Attempt } from './data_stream.ts'
import { connectError, type ServerError } from './errors.ts'
import { explainFailure } from './explain_failure.ts'
import { connectionOptions, SILENCE_MS, type SmtpServer, type SmtpTimeouts } from './server.ts'

/** Slowest rate, in bytes per ms, at which a message may be sent without losing its connection. */
const SLOWEST = 10

/** How long the reply to QUIT is awaited. Without a limit a silent server would keep this process alive. */
const QUIT_MS = 2_000

/** An open and authenticated connection to a server. One message at a time. */
export class SmtpSession {
  sent = 0
  /** The server closed the connection before it looked at the last message. */
  wasStale = false
  /** Its last message was set aside: it does not count as a connection in use, and is not used again. */
  isAside = false
  #connection: SMTPConnection
  #timeouts: SmtpTimeouts
  #server: SmtpServer
  #open = true
  #onClose: (() => void) | null = null

  private constructor(connection: SMTPConnection, server: SmtpServer, timeouts: SmtpTimeouts) {
    this.#connection = connection
    this.#server = server
    this.#timeouts = timeouts
  }

  get isOpen(): boolean {
    return this.#open
  }

  get protection(): Protection {
    return protectionOf(this.#connection)
  }

  /** @throws {SmtpConnectError} */
  static async open(server: SmtpServer, timeouts: SmtpTimeouts, signal: AbortSignal): Promise<SmtpSession> {
    const connection = new SMTPConnection(connectionOptions(server, timeouts))
    const session = new SmtpSession(connection, server, timeouts)
    await session
      .#within(timeouts.connect, signal, () => connect(connection, server))
      .catch((error: ServerError) => {
        const isTls = connection.upgrading || error.code === 'ETLS'
        session.close()
        throw connectError(error, server, isTls)
      })
    connection.on('error', () => session.close())
    connection.once('end', () => session.#ended())
    return session
  }

  /** Sends one message. After an error the phase reached decides if a retry is safe, never the error's code. */
  async send(outgoing: Outgoing): Promise<Outcome> {
    const isInStep = () => this.sent === 1 || asksForContent(this.#connection)
    const attempt = new Attempt(outgoing, { isOpen: () => this.#open, isInStep })
    this.sent++
    this.wasStale = false
    try {
      const reply = await this.#exchange(outgoing, attempt)
      if (attempt.phase !== 'dot') throw new Error('the server replied before the message had ended')
      return { outcome: 'delivered', reply, via: this.#server.via }
    } catch (error) {
      return await this.#explain(error as ServerError, attempt, outgoing)
    }
  }

  close(): void {
    // Destroys the socket: buffered bytes, including a dot, are not sent.
    this.#connection.close()
    this.#ended()
  }

  quit(): void {
    if (!this.#open) return
    const timer = setTimeout(() => this.#connection.close(), QUIT_MS)
    this.#connection.once('end', () => clearTimeout(timer))
    this.#connection.quit()
    this.#ended()
  }

  async #exchange(outgoing: Outgoing, attempt: Attempt): Promise<string> {
    // RFC 1870: a server that announces a lower limit is not sent the whole message.
    const envelope = { from: outgoing.mail_from, to: [outgoing.recipient], size: outgoing.message.bytes.length }
    const message_ms = this.#timeouts.message + outgoing.message.bytes.length / SLOWEST
    const exchange = this.#within(message_ms, outgoing.signal, deadline => {
      attempt.onDot = () => {
        deadline.ignoreSignal()
        this.#awaitReply(this.#timeouts.dot, deadline, outgoing)
      }
      return sendMessage(this.#connection, envelope, attempt.content)
    })
    return exchange.catch((error: ServerError) => {
      throw refusalOf(envelope) ?? error
    })
  }

  /** Waits `left` ms more. Whenever the server has been silent for long, asks to set the delivery aside. */
  #awaitReply(left: number, deadline: Deadline, outgoing: Outgoing): void {
    const { dot, silence = SILENCE_MS } = this.#timeouts
    const { restart, expire } = deadline
    if (left <= silence || this.isAside) {
      restart(left, () => expire(dot))
      return
    }
    restart(silence, () => {
      this.isAside = outgoing.onSilence?.() ?? false
      this.#awaitReply(left - silence, deadline, outgoing)
    })
  }

  async #explain(error: ServerError, attempt: Attempt, { signal }: Outgoing): Promise<Outcome> {
    const { outcome, wasStale, connection } = explainFailure(error, attempt, this.#server, signal.aborted)
    this.wasStale = wasStale
    if (connection === 'close') this.close()
    if (connection === 'reset') await this.#reset(signal)
    return outcome
  }

  /** Makes the connection ready for another message; closes it if the server does not reply. */
  async #reset(signal: AbortSignal): Promise<void> {
    try {
      await this.#within(this.#timeouts.connect, signal, () => reset(this.#connection))
    } catch {
      this.close()
    }
  }

  /** Runs a step of the conversation. At its deadline, or when it is aborted, the connection is destroyed. */
  #within<T>(ms: number, signal: AbortSignal, run: (deadline: Deadline) => Promise<T>): Promise<T> {
    const step = new TimedStep<T>(ms, signal, () => this.close())
    this.#onClose = () => step.fail(new Error('the server closed the connection'))
    return step.run(run).finally(() => {
      this.#onClose = null
    })
  }

  #ended(): void {
    if (!this.#open) return
    this.#open = false
    // The connection reports its end before it delivers the reply or error that it ended with: those come first.
    if (this.#onClose) setImmediate(this.#onClose)
  }
}
