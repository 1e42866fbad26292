/** `enhanced` is the status code of RFC 3463 (`5.1.1`), `text` printable ASCII without the codes; code 0: no reply at all. */
export type Reply = { code: number; enhanced: string | null; text: string }

/** What was under way: `connect` is all before MAIL (greeting, EHLO, STARTTLS, AUTH), `dot` the end of the message. */
export type Stage = 'connect' | 'mail' | 'rcpt' | 'data' | 'dot'

/** `bounced` suppresses the recipient; `failed` is as final and suppresses nobody; `deferred` is tried again. */
export type Verdict = {
  outcome: 'deferred' | 'bounced' | 'failed'
  class: 'recipient' | 'policy' | 'content' | 'size' | 'sender' | 'infrastructure' | 'transient'
}

const MAX_TEXT = 1000
// RFC 5321 4.2.1 and RFC 2034 4. Some servers write the status as `#5.1.0` or `(5.1.0)`.
const LINE = /^(\d{3})(?:[ -]|$)(?:[#(]?([245]\.\d{1,3}\.\d{1,3})(?!\.?\d)[):]?\s*)?/
// qmail puts it at the end: `no mailbox here by that name (#5.1.1)`.
const TRAILING_STATUS = /#([245]\.\d{1,3}\.\d{1,3})(?!\.?\d)/
// RFC 4954 6, RFC 3207 4: authentication or TLS is asked for, at whatever command.
const ACCESS_CODES = [530, 534, 535, 538]

/** Reads a reply as it came, of one line or many. Never throws: a peer may answer anything. */
export function parseReply(text: string): Reply {
  const reply: Reply = { code: 0, enhanced: null, text: '' }
  const words: string[] = []
  // Codes are on every line: what is clipped here loses only words.
  for (const line of text.slice(0, 2 * MAX_TEXT).split(/\r?\n/)) {
    const [codes = '', code, enhanced] = LINE.exec(line) ?? []
    if (code && !reply.code) reply.code = Number(code)
    if (enhanced) reply.enhanced ??= enhanced
    words.push(line.slice(codes.length).trim())
  }
  reply.text = words
    .join(' ')
    .replace(/[^\x20-\x7e]/g, '?')
    .trim()
    .slice(0, MAX_TEXT)
  reply.enhanced ??= TRAILING_STATUS.exec(reply.text)?.[1] ?? null
  return reply
}

/** A reply as it is shown: on one line, printable, `450 4.2.1 Mailbox busy`. */
export function formatReply(text: string): string {
  const { code, enhanced, text: words } = parseReply(text)
  return [code === 0 ? null : code, enhanced, words].filter(part => part !== null && part !== '').join(' ')
}

/** What a refusal at a stage means for the delivery. The code says whether it is final, the status why. */
export function classifyReply({ code, enhanced, stage }: Omit<Reply, 'text'> & { stage: Stage }): Verdict {
  if (code >= 400 && code < 500) return { outcome: 'deferred', class: 'transient' }
  const permanent = code >= 500 && code < 600
  if (!permanent || stage === 'connect' || ACCESS_CODES.includes(code)) {
    return { outcome: 'deferred', class: 'infrastructure' }
  }

  const detail = enhanced?.slice(2) ?? ''
  // RFC 3463 3.8 and 3.2: a policy against us (7.x) and a bad sender (1.7, 1.8) say nothing of the recipient,
  // not even in a reply to RCPT.
  if (detail.startsWith('7.')) return { outcome: 'failed', class: 'policy' }
  if (detail === '1.7' || detail === '1.8') return { outcome: 'failed', class: 'sender' }
  // At MAIL no recipient has been named yet, so none can be at fault.
  if (stage !== 'mail' && (stage === 'rcpt' || detail.startsWith('1.') || detail === '2.0' || detail === '2.1')) {
    return { outcome: 'bounced', class: 'recipient' }
  }
  return { outcome: 'failed', class: classOf(code, detail, stage) }
}

function classOf(code: number, detail: string, stage: Stage): Verdict['class'] {
  if (detail.startsWith('6.')) return 'content'
  if (detail === '3.4' || detail === '2.3') return 'size'
  if (stage !== 'mail' && detail.startsWith('2.')) return 'recipient'
  if (code === 552) return 'size'
  return stage === 'mail' ? 'sender' : 'content'
}

const reasons: Record<Verdict['class'], string> = {
  recipient: 'The receiver refused the recipient.',
  policy: 'The receiver refused it by its policy.',
  content: 'The receiver refused the message.',
  size: 'The receiver refused the message for its size.',
  sender: 'The receiver refused the sender.',
  infrastructure: 'The server refused our connection.',
  transient: 'The receiver asked to try again later.',
}

/** A verdict in a sentence, for events and the queue. */
export function explainVerdict({ outcome, class: cause }: Verdict): string {
  return outcome === 'deferred' && cause !== 'infrastructure' ? reasons.transient : reasons[cause]
}
