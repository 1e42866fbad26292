import type { Socket } from 'node:net'

export type Terms = {
  greeting?: string | undefined
  ehlo?: string | undefined
  starttls?: string | undefined
  /** The reply to MAIL. 421 closes the connection. */
  mail?: string | undefined
  /** The number of attempts per recipient to defer, over all connections. */
  attempts: Map<string, number>
  take(mail_from: string, rcpts: string[], content: Buffer): void
  /** Returns true if the reply is sent later. */
  hold?(reply: () => void): boolean
}

const NOTHING = Buffer.alloc(0)
const END = Buffer.from('\r\n.\r\n')
const BEFORE_CONTENT = Buffer.from('\r\n') // so that the end of an empty content is found too
const LINE_LIMIT = 8_192
const DRIBBLE = 50 // ms per byte

export function serve(socket: Socket, terms: Terms): void {
  const session = new Session(socket, terms)
  socket.on('error', () => {}).on('data', chunk => session.receive(chunk))
  session.greet()
}

/** Null: no reply, or not yet. */
type Reply = string | null

class Session {
  readonly socket: Socket
  readonly terms: Terms
  line = ''
  mail_from = ''
  rcpts: string[] = []
  content: Buffer[] | null = null
  tail = BEFORE_CONTENT

  constructor(socket: Socket, terms: Terms) {
    this.socket = socket
    this.terms = terms
  }

  greet(): void {
    const { greeting = '220 sink ESMTP' } = this.terms
    if (greeting.startsWith('421')) this.close(greeting)
    else this.reply(greeting === 'dribble' ? this.dribble('220-sink\r\n') : greeting)
  }

  receive(chunk: Buffer): void {
    for (let rest = chunk; rest.length > 0 && !this.socket.destroyed; ) {
      rest = this.content ? this.receiveContent(rest, this.content) : this.receiveLine(rest)
    }
  }

  receiveLine(chunk: Buffer): Buffer {
    const end = chunk.indexOf('\n')
    this.line += chunk.toString('utf8', 0, end < 0 ? chunk.length : end)
    if (this.line.length > LINE_LIMIT) this.socket.destroy()
    if (end < 0) return NOTHING
    const line = this.line.trimEnd()
    this.line = ''
    this.reply(this.obey(line.slice(0, 4).toUpperCase(), line))
    return chunk.subarray(end + 1)
  }

  obey(verb: string, line: string): Reply {
    if (verb === 'EHLO') return this.terms.ehlo ?? '250-sink\r\n250-8BITMIME\r\n250 ENHANCEDSTATUSCODES'
    if (line === 'STARTTLS' && this.terms.starttls) return this.terms.starttls
    if (verb === 'MAIL') return this.startMail(addressOf(line))
    if (verb === 'RCPT') return this.addRecipient(addressOf(line))
    if (verb === 'DATA') return this.startContent()
    if (verb === 'RSET') return this.startTransaction('')
    if (verb === 'HELO' || verb === 'NOOP') return '250 sink'
    if (verb === 'QUIT') return this.close('221 2.0.0 Bye')
    return '502 5.5.1 Unknown command'
  }

  startMail(mail_from: string): Reply {
    const reply = this.startTransaction(mail_from)
    const { mail } = this.terms
    return mail?.startsWith('421') ? this.close(mail) : (mail ?? reply)
  }

  startTransaction(mail_from: string): Reply {
    this.mail_from = mail_from
    this.rcpts = []
    return '250 2.1.0 Ok'
  }

  addRecipient(rcpt: string): Reply {
    const refused = /^(tmp|perm|reply|multiline|8bit)-(\d{3})(?:-(\d\.\d+\.\d+))?/.exec(rcpt)
    if (refused) return this.refuse(refused)
    if (rcpt.startsWith('421')) return this.close('421 4.3.2 Closing')
    if (rcpt.startsWith('garbage')) return '\0\xff\r\0?\r\n'
    if (rcpt.startsWith('dribble')) return this.dribble('250-Ok\r\n')
    if (this.isTooEarly(rcpt)) return rcpt.startsWith('stall') ? null : '451 4.7.1 Greylisted, try again'
    this.rcpts.push(rcpt)
    return '250 2.1.5 Ok'
  }

  isTooEarly(rcpt: string): boolean {
    const times = /^(?:grey|stall)-(\d+)/.exec(rcpt)?.[1]
    if (!times) return false
    const attempt = (this.terms.attempts.get(rcpt) ?? 0) + 1
    this.terms.attempts.set(rcpt, attempt)
    return attempt <= Number(times)
  }

  startContent(): Reply {
    if (this.rcpts.length === 0) return '503 5.5.1 No recipients'
    if (this.asked('drop-pre-dot')) return this.close('354 Go ahead')
    this.content = []
    this.tail = BEFORE_CONTENT
    return '354 Go ahead'
  }

  /** Returns the data after the content, whose end may be split between two chunks. */
  receiveContent(chunk: Buffer, content: Buffer[]): Buffer {
    if (this.asked('drop-mid-body')) this.socket.destroy()
    if (this.socket.destroyed) return NOTHING
    const { tail } = this
    const across = Buffer.concat([tail, chunk.subarray(0, END.length - 1)]).indexOf(END)
    const end = across < 0 ? chunk.indexOf(END) : across - tail.length
    if (across < 0 && end < 0) {
      content.push(chunk)
      this.tail = Buffer.concat([tail, chunk.subarray(1 - END.length)]).subarray(1 - END.length)
      return NOTHING
    }
    content.push(chunk.subarray(0, end + END.length))
    this.content = null
    const all = content.length === 1 ? (content[0] as Buffer) : Buffer.concat(content)
    this.reply(this.finish(all.subarray(0, -'.\r\n'.length)))
    return chunk.subarray(end + END.length)
  }

  finish(content: Buffer): Reply {
    const refused = /^(data)-(\d{3})(?:-(\d\.\d+\.\d+))?/.exec(this.asked('data-'))
    if (refused) return this.refuse(refused)

    this.terms.take(this.mail_from, this.rcpts, content)
    if (this.asked('drop-post-dot')) this.socket.destroy()
    if (this.asked('hang-post-dot')) return null
    if (this.terms.hold?.(() => this.reply('250 2.0.0 Ok'))) return null
    const delay = /^slow250-(\d+)/.exec(this.asked('slow250-'))?.[1]
    if (!delay) return '250 2.0.0 Ok'
    setTimeout(() => this.reply('250 2.0.0 Ok'), Number(delay))
    return null
  }

  /** Returns the first match among the accepted recipients, if any. */
  asked(behaviour: string): string {
    return this.rcpts.find(rcpt => rcpt.startsWith(behaviour)) ?? ''
  }

  /** The text of `8bit` is Latin-1, which is not valid UTF-8. */
  refuse([, name, code = '', enhanced]: string[]): Reply {
    const status = enhanced ? `${enhanced} ` : ''
    if (name === 'multiline')
      return [`${code}-${status}One`, `${code}-${status}two`, `${code} ${status}three`].join('\r\n')
    const reply = `${code} ${status}${name === '8bit' ? 'Bo\xeete pleine' : 'As you asked'}`
    return code === '421' ? this.close(reply) : reply
  }

  reply(reply: Reply): void {
    if (reply && this.socket.writable) this.socket.write(`${reply}\r\n`, 'latin1')
  }

  close(reply: Reply): null {
    this.reply(reply)
    this.socket.destroySoon()
    return null
  }

  /** Sends a byte at a time, endlessly. */
  dribble(text: string): null {
    let at = 0
    const timer = setInterval(() => this.socket.write(text.charAt(at++ % text.length)), DRIBBLE)
    this.socket.once('close', () => clearInterval(timer))
    return null
  }
}

const addressOf = (line: string): string => /<([^>]*)>/.exec(line)?.[1] ?? ''
