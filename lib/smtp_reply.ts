import {
  AGAINST_US,
  ATTACHMENT,
  CONTENT,
  FULL,
  NO_USER,
  POLICY,
  SENDER,
  TOO_LARGE,
  withoutAddresses,
} from './reply_words.ts'

/** `enhanced` is the status code of RFC 3463 (`5.1.1`), `text` printable ASCII without the codes; code 0: no reply at all. */
export type Reply = { code: number; enhanced: string | null; text: string }

/** What was under way: `connect` is all before MAIL (greeting, EHLO, STARTTLS, AUTH), `dot` the end of the message. */
export type Stage = 'connect' | 'mail' | 'rcpt' | 'data' | 'dot'

/**
 * `bounced` suppresses the recipient; `failed` is as final and suppresses nobody; `deferred` is tried again. `class` says
 * whose doing it is.
 */
export type Verdict = {
  outcome: 'deferred' | 'bounced' | 'failed'
  class: 'recipient' | 'policy' | 'content' | 'size' | 'sender' | 'infrastructure' | 'transient'
}

const MAX_TEXT = 1000
// RFC 5321 4.2.1 and RFC 2034 4. Some servers write the status as `#5.1.0` or `(5.1.0)`.
const LINE = /^(\d{3})(?:[ -]|$)(?:[#(]?([245]\.\d{1,3}\.\d{1,3})(?!\.?\d)[):]?\s*)?/
// qmail puts it at the end: `no mailbox here by that name (#5.1.1)`.
const TRAILING_STATUS = /#([245]\.\d{1,3}\.\d{1,3})(?!\.?\d)/
// RFC 4954 6, RFC 3207 4: authentication or TLS is asked for, at whatever command. RFC 5321 4.2.2: a command was not
// understood, or came at the wrong time.
const OUR_FAULTS = [530, 534, 535, 538, 500, 502, 503, 504]

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

/** What a refusal at a stage means for the delivery. The code says whether it is final; the status why, else the words. */
export function classifyReply(given: Reply & { stage: Stage }): Verdict {
  const reply = { ...given, text: withoutAddresses(given.text) }
  const { code, stage } = reply
  if (code >= 400 && code < 500) return { outcome: 'deferred', class: 'transient' }
  const permanent = code >= 500 && code < 600
  if (!permanent || stage === 'connect' || OUR_FAULTS.includes(code)) {
    return { outcome: 'deferred', class: 'infrastructure' }
  }
  const detail = reply.enhanced?.slice(2) ?? ''
  const cause = causeByStatus(detail, reply) ?? causeByWords(reply) ?? causeByStage(detail, reply)
  // At MAIL no recipient has been named yet, so none can be at fault.
  if (cause === 'recipient' && stage === 'mail') return { outcome: 'failed', class: 'sender' }
  const isRefused = cause === 'recipient' && (stage === 'rcpt' || /^(?:1\.|2\.[01]$)/.test(detail))
  return { outcome: isRefused ? 'bounced' : 'failed', class: cause }
}

/** RFC 3463 3. Null for a status that says nothing of its own (X.0.0, X.1.0, X.2.0, X.5.0), or that nobody knows. */
function causeByStatus(detail: string, { text, stage }: Reply & { stage: Stage }): Verdict['class'] | null {
  // A policy against us and a bad sender say nothing of the recipient, not even in a reply to RCPT.
  if (detail.startsWith('7.')) return 'policy'
  if (detail === '1.7' || detail === '1.8' || SENDER.test(text)) return 'sender'
  if (detail === '3.4' || detail === '2.3') return 'size'
  if (detail.startsWith('6.')) return 'content'
  if (/^[12]\.[1-9]/.test(detail)) return 'recipient'
  // Exchange Online for a recipient that its directory does not have.
  if (detail === '4.1' && /recipient address rejected/i.test(text)) return 'recipient'
  // Of their system, the way to it or our manners (3, 4, 5), which a recipient is not to pay for.
  if (stage === 'rcpt' && /^[345]\.[1-9]/.test(detail)) return NO_USER.test(text) ? 'recipient' : 'infrastructure'
  return null
}

function causeByWords({ code, text, stage }: Reply & { stage: Stage }): Verdict['class'] | null {
  const isAfterRcpt = stage === 'data' || stage === 'dot'
  if (AGAINST_US.test(text)) return 'policy'
  if (NO_USER.test(text) || FULL.test(text)) return 'recipient'
  if (TOO_LARGE.test(text) || (code === 552 && stage !== 'rcpt')) return 'size'
  if (isAfterRcpt && (CONTENT.test(text) || ATTACHMENT.test(text))) return 'content'
  return POLICY.test(text) ? 'policy' : null
}

function causeByStage(detail: string, { stage }: { stage: Stage }): Verdict['class'] {
  if (detail === '1.0' || detail === '2.0') return 'recipient'
  if (stage === 'mail') return 'sender'
  return stage === 'rcpt' ? 'recipient' : 'content'
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
  if (outcome === 'failed' && cause === 'infrastructure') return 'The receiver could not take it.'
  if (outcome === 'failed' && cause === 'transient') return 'The receiver did not take it in time.'
  return outcome === 'deferred' && cause !== 'infrastructure' ? reasons.transient : reasons[cause]
}
