import { clipSubject } from './mail_fields.ts'

/** Prefixes that mail clients write before the subjects of replies and forwarded messages, in several languages. */
const REPLY = /^(?:re|aw|antw|sv|vs|odp|rif|res)(?:\[\d+\]|\(\d+\))? ?[:：]/i
const FORWARD = /^(?:fwd?|wg|tr|vb)(?:\[\d+\]|\(\d+\))? ?[:：]/i

/** Returns the subject of a reply: one line, not too long, and without a second prefix. The original subject is untrusted. */
export function replySubject(subject: string): string {
  const line = safeSubject(subject)
  return REPLY.test(line) ? line : clipSubject(`Re: ${line}`)
}

export function forwardSubject(subject: string): string {
  const line = safeSubject(subject)
  return FORWARD.test(line) ? line : clipSubject(`Fwd: ${line}`)
}

/** Replaces characters that end a line in some systems with a space. */
export function safeSubject(subject: string): string {
  return clipSubject(
    subject
      .toWellFormed()
      .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
      .trim(),
  )
}

/** Headers of a message as they were written; null if missing. */
export type ThreadHeaders = { message_id: string | null; references: string | null; in_reply_to: string | null }

// RFC 5322 3.6.4, without forms that no program writes: white space, quotes around an @, and the beginning of an encoded-word.
const MESSAGE_ID = /<[!-;=?A-~]+@[!-;=?-~]+>/g
const MAX_MESSAGE_ID = 250
/** Keeps the header short: the first reference, with which the thread began, and the last ones. */
const MAX_REFERENCES = 20

/** Returns the headers that put a reply into the thread of a message (RFC 5322 3.6.4); none if the message has no Message-ID. */
export function replyHeaders(original: ThreadHeaders): Record<string, string> {
  const [own] = messageIds(original.message_id)
  const parents = messageIds(original.in_reply_to)
  const references = messageIds(original.references)
  if (references.length === 0 && parents.length === 1) references.push(...parents)
  if (!own) return {}
  const ids = [...new Set([...references.filter(id => id !== own), own])]
  const bounded = ids.length > MAX_REFERENCES ? [...ids.slice(0, 1), ...ids.slice(1 - MAX_REFERENCES)] : ids
  return { 'In-Reply-To': own, References: bounded.join(' ') }
}

function messageIds(text: string | null): string[] {
  const ids = text?.match(MESSAGE_ID) ?? []
  return ids.filter(id => id.length <= MAX_MESSAGE_ID && !id.includes('=?'))
}
