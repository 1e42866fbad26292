/** `enhanced` is the status code of RFC 3463 (`5.1.1`), `text` is printable and has no codes. Code 0: no reply at all. */
export type Reply = { code: number; enhanced: string | null; text: string }

/**
 * The step that the reply belongs to: `connect` is everything before MAIL (greeting, EHLO, STARTTLS, AUTH), `dot` the end of the
 * message.
 */
export type Stage = 'connect' | 'mail' | 'rcpt' | 'data' | 'dot'

/**
 * `bounced` suppresses the recipient; `failed` is final too, but suppresses nobody; `deferred` is retried. `class` is the cause.
 */
export type ReplyClass = {
  outcome: 'deferred' | 'bounced' | 'failed'
  class: 'recipient' | 'policy' | 'content' | 'size' | 'sender' | 'infrastructure' | 'transient'
}

const MAX_TEXT = 1000
// RFC 5321 4.2.1 and RFC 2034 4. Some servers write the status as `#5.1.0` or `(5.1.0)`.
const LINE = /^(\d{3})(?:[ -]|$)(?:[#(]?([245]\.\d{1,3}\.\d{1,3})(?!\.?\d)[):]?\s*)?/
/** Controls, marks that turn or hide text, and what is no character. Servers may reply in any script (RFC 6531 3.7.4.1). */
const UNPRINTABLE = /[^\P{C}]|[\p{Zl}\p{Zp}\ufffd]/gu
// qmail writes it at the end: `no mailbox here by that name (#5.1.1)`.
const TRAILING_STATUS = /#([245]\.\d{1,3}\.\d{1,3})(?!\.?\d)/

/** Parses a reply of one or more lines. Never throws: a peer may reply anything. */
export function parseReply(text: string): Reply {
  const reply: Reply = { code: 0, enhanced: null, text: '' }
  const words: string[] = []
  // The codes are on every line, so clipping loses only words.
  for (const line of text.slice(0, 2 * MAX_TEXT).split(/\r?\n/)) {
    const [codes = '', code, enhanced] = LINE.exec(line) ?? []
    if (code && !reply.code) reply.code = Number(code)
    if (enhanced) reply.enhanced ??= enhanced
    words.push(line.slice(codes.length).trim())
  }
  reply.text = words.join(' ').trim().slice(0, MAX_TEXT).replace(UNPRINTABLE, '?')
  reply.enhanced ??= TRAILING_STATUS.exec(reply.text)?.[1] ?? null
  return reply
}

/** Formats a reply for people: on one line, printable, `450 4.2.1 Mailbox busy`. */
export function formatReply(text: string): string {
  const { code, enhanced, text: words } = parseReply(text)
  return [code === 0 ? null : code, enhanced, words].filter(part => part !== null && part !== '').join(' ')
}

const reasons: Record<ReplyClass['class'], string> = {
  recipient: 'The receiver refused the recipient.',
  policy: 'The receiver refused it by its policy.',
  content: 'The receiver refused the message.',
  size: 'The receiver refused the message for its size.',
  sender: 'The receiver refused the sender.',
  infrastructure: 'The server refused our connection.',
  transient: 'The receiver asked to try again later.',
}

/** Describes a class in one sentence, for events and the queue. */
export function explainReplyClass({ outcome, class: cause }: ReplyClass): string {
  if (outcome === 'failed' && cause === 'infrastructure') return 'The receiver could not take it.'
  if (outcome === 'failed' && cause === 'transient') return 'The receiver could not take it at the time.'
  return outcome === 'deferred' && cause !== 'infrastructure' ? reasons.transient : reasons[cause]
}
