import type { ReportPart } from './mime_parts.ts'
import type { ReportedRecipient } from './report.ts'

/** Maximum characters after a recipient where its command may be named. */
const MAX_WORDS = 1_500

/**
 * Adds the command that the server refused, which many programs name only in words for people: Postfix and Exim beside the reply,
 * qmail by what the server does not like, sendmail in the transcript of the session.
 */
export function withCommands(recipients: ReportedRecipient[], parts: ReportPart[]): ReportedRecipient[] {
  const text = (parts.find(({ type }) => type === 'text/plain')?.text ?? '').slice(0, 20_000)
  const lower = text.toLowerCase()
  const starts = recipients.map(({ address }) => (address ? lower.indexOf(address) : 0))
  return recipients.map((recipient, n) => {
    const start = starts[n] ?? -1
    if (start === -1) return recipient
    const end = Math.min(start + MAX_WORDS, ...starts.filter(other => other > start))
    const command = commandIn(text.slice(start, end).replace(/\s+/g, ' '))
    return command ? { ...recipient, command } : recipient
  })
}

const RCPT = /(?:in reply to|after) RCPT TO\b|does not like recipient|\[RCPT_TO\]|>>> ?RCPT TO:\S+ <<< ?5/i
const MAIL =
  /(?:in reply to|after) MAIL FROM\b|does not like sender|sender was rejected|\[MAIL_FROM\]|>>> ?MAIL FROM:\S+ <<< ?5/i

function commandIn(text: string): ReportedRecipient['command'] {
  const isRcpt = RCPT.test(text)
  if (isRcpt === MAIL.test(text)) return undefined
  return isRcpt ? 'rcpt' : 'mail'
}
