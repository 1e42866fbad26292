import type { Socket } from 'node:net'
import type { SMTPServer } from 'smtp-server'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import type { SmtpLimits } from './limits.ts'

/** A reply that names its enhanced code itself (RFC 3463); others get the one that the library has for them. */
const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3} /

/** A path whose local part is a quoted string (RFC 5321 section 4.1.2), behind a route if there is one. */
const QUOTED_PATH =
  /^([^:]{1,20}:\s*<(?:@[^\s":]+:)?)("(?:[ !#-[\]-~]|\\[ -~]|[^\p{ASCII}\p{Cc}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}])*")(@.*)$/su

/** What the client is doing: nothing, or not yet all of a command; waiting for our answer; sending a message. */
type Phase = 'command' | 'answer' | 'data'

/**
 * A session that ends in time. smtp-server's own timeout begins anew with every byte, so that a client may hold a session
 * for as long as it likes; and it counts neither commands nor errors.
 */
export class BoundedConnection extends SMTPConnection {
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

  /** The reason for which it is not even greeted, or null. */
  refusal: string | null = null

  override init(): void {
    this._setListeners(() => {
      if (this.refusal) this.send(421, `4.3.2 ${this.name} ${this.refusal}`)
      else this.#greet(this.#limits.greeting_delay_ms)
    })
  }

  /** Whether nothing would be lost if it ended now. */
  get isIdle(): boolean {
    return this.#phase === 'command'
  }

  /** How long it has waited for its client; 0 when that waits for us. */
  get idle_ms(): number {
    return this.isIdle ? performance.now() - this.#idleSince : 0
  }

  override _onCommand(command: Buffer, callback?: (...args: unknown[]) => unknown): void {
    clearTimeout(this.#timer)
    this.#phase = 'answer'
    if (++this.#commands > this.#limits.commands) this.send(421, '4.7.0 Too many commands')
    else super._onCommand(command, callback)
  }

  /** The library splits a command at blanks and an address at its at sign, also within quotes: it gets a word there instead. */
  override _parseAddressCommand(name: string, command: Buffer | string) {
    const [, begin = '', quoted, end = ''] = QUOTED_PATH.exec(command.toString()) ?? []
    if (quoted === undefined) return super._parseAddressCommand(name, command)
    const parsed = super._parseAddressCommand(name, `${begin}quoted${end}`)
    return parsed && { ...parsed, address: parsed.address.replace(/^quoted(?=@)/, () => quoted) }
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
   * The reply to EHLO. The library offers AUTH before STARTTLS as well and then answers 538: by that time a client that
   * believed the offer has sent its password in the clear (RFC 4954 section 4).
   */
  #withoutClearAuth(lines: string[]): string[] {
    return this.secure ? lines : lines.filter(line => !/^AUTH\b/i.test(line))
  }

  /** Whoever talks before the greeting is refused, so it is worth a wait: most such clients send nothing but spam. */
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

  /** The stream ends when the message has arrived; what follows is ours to do, in a time of its own. */
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
      this.send(421, '4.4.2 The message does not come in time')
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
