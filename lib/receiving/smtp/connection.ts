import type { Socket } from 'node:net'
import type { SMTPServer } from 'smtp-server'
import { findUnknownParameter, splitQuotedPath } from './envelope_command.ts'
import { HalfOpenConnection } from './half_open.ts'
import type { SmtpLimits } from './limits.ts'

/** A reply with an enhanced code of its own (RFC 3463); the library adds one to others. */
const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3} /

/** The state of the session: waiting for a complete command, working on a reply, or receiving a message. */
type Phase = 'command' | 'answer' | 'data'

/**
 * A session with a limited duration. smtp-server's own timeout restarts with every byte, so a client could keep a session for as
 * long as it likes; and it counts neither commands nor errors.
 */
export class BoundedConnection extends HalfOpenConnection {
  readonly #limits: SmtpLimits
  readonly #session: NodeJS.Timeout
  #phase: Phase = 'command'
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  #idleSince = 0
  #commands = 0
  #errors = 0

  constructor(server: SMTPServer, socket: Socket, limits: SmtpLimits) {
    super(server, socket)
    this.#limits = limits
    this.#session = setTimeout(() => this.#endSession(), limits.session_ms)
    this.#startCommand()
  }

  /** The reason why the client is refused before the greeting, or null. */
  refusal: string | null = null

  override init(): void {
    this._setListeners(() => {
      if (this.refusal) this.send(421, `4.3.2 ${this.name} ${this.refusal}`)
      else this.#greet(this.#limits.greeting_delay_ms)
    })
  }

  /** Tells whether nothing would be lost if the session ended now. */
  get isIdle(): boolean {
    return this.#phase === 'command'
  }

  /** How long the session has waited for its client; 0 while the client waits for us. */
  get idle_ms(): number {
    return this.isIdle ? performance.now() - this.#idleSince : 0
  }

  override _onCommand(command: Buffer, callback?: (...args: unknown[]) => unknown): void {
    clearTimeout(this.#timer)
    this.#phase = 'answer'
    if (++this.#commands > this.#limits.commands) this.send(421, '4.7.0 Too many commands')
    else super._onCommand(command, callback)
  }

  /** The library splits commands at spaces and addresses at their at sign, even in quotes: a placeholder replaces such a local part. */
  override _parseAddressCommand(name: string, command: Buffer | string) {
    const path = splitQuotedPath(command.toString())
    if (!path) return super._parseAddressCommand(name, command)
    const parsed = super._parseAddressCommand(name, `${path.begin}quoted${path.end}`)
    return parsed && { ...parsed, address: parsed.address.replace(/^quoted(?=@)/, () => path.local) }
  }

  /** The library ignores parameters that it does not know, such as `BY=60;R`, although a client relies on each (RFC 5321 4.1.1.11). */
  override _rejectInvalidParams(...[parsed, known, callback]: Parameters<HalfOpenConnection['_rejectInvalidParams']>) {
    if (super._rejectInvalidParams(parsed, known, callback)) return true
    const unknown = findUnknownParameter(Object.keys(parsed.args || {}), known, this._server.options)
    if (unknown === null) return false
    this.send(555, `5.5.4 The parameter ${unknown} is not supported`)
    callback()
    return true
  }

  override send(code: number, data?: string | string[], context?: string | false): void {
    const isEnhanced = typeof data === 'string' && ENHANCED.test(data)
    super.send(code, Array.isArray(data) ? this.#withoutClearAuth(data) : data, isEnhanced ? false : context)
    if (code >= 500) this.#errors++
    if (code === 421 || this._closing || this._closed) this.#stop()
    else if (code === 354) this.#startData()
    else if (this.#errors >= this.#limits.errors) this.send(421, '4.7.0 Too many errors')
    else if (this.#isOver) this.send(421, '4.4.2 The session has lasted too long')
    else this.#startCommand()
  }

  override _onClose(): void {
    this.#stop()
    super._onClose()
    this.emit('gone')
  }

  /**
   * Removes AUTH from the reply to EHLO before STARTTLS. The library offers it, then replies 538 when a client has already sent
   * its password in the clear (RFC 4954 section 4).
   */
  #withoutClearAuth(lines: string[]): string[] {
    return this.secure ? lines : lines.filter(line => !/^AUTH\b/i.test(line))
  }

  /** Delays the greeting: clients that talk before it are rejected, and most of them only send spam. */
  #greet(delay_ms: number): void {
    if (delay_ms > 0) setTimeout(() => this.connectionReady(), delay_ms).unref()
    else this.connectionReady()
  }

  #startCommand(): void {
    this.#phase = 'command'
    this.#idleSince = performance.now()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.send(421, '4.4.2 No command in time'), this.#limits.command_ms)
  }

  /** Limits the time for the message. The stream ends when it has arrived; storing it has a limit of its own. */
  #startData(): void {
    const { data_ms, data_rate, data_grace_ms } = this.#limits
    this.#phase = 'data'
    this.#commands = 0
    const parser = this._parser
    const start = performance.now()
    const check = () => {
      const late = performance.now() - start - data_grace_ms
      const bytes = parser ? parser.dataBytes : 0
      if (late + data_grace_ms < data_ms && bytes >= (late / 1_000) * data_rate) return
      this.send(421, '4.4.2 The message arrives too slowly')
    }
    clearTimeout(this.#timer)
    this.#timer = setInterval(check, Math.min(data_grace_ms, data_ms) / 4)
    if (this._dataStream) {
      this._dataStream.once('finish', () => {
        clearInterval(this.#timer)
        if (this.#phase === 'data') this.#phase = 'answer'
      })
    }
  }

  #endSession(): void {
    this.#isOver = true
    if (this.isIdle) this.send(421, '4.4.2 The session has lasted too long')
  }

  #stop(): void {
    this.#phase = 'answer'
    clearTimeout(this.#session)
    clearTimeout(this.#timer)
  }
}
