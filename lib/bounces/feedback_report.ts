import type { Part } from './parts.ts'
import { splitHeaders } from './parts.ts'
import type { Report } from './report.ts'

/** Those that say that somebody does not want it (RFC 5965 7.3, RFC 6650 3); others tell of failed checks, or of peace. */
const COMPLAINTS = ['abuse', 'fraud', 'virus', 'opt-out', 'opt-out-list', 'other', 'complaint']

/**
 * Reads a feedback report (RFC 5965). Where our token may stand is the original sender that it tells, and the fields of
 * the message that it returns.
 */
export function readFeedbackReport(parts: Part[]): Report | null {
  const report = parts.find(part => part.type === 'message/feedback-report' || isMistaken(part))
  if (!report) return null
  const { headers: fields } = splitHeaders(Buffer.from(report.text.trimStart()))
  const feedback_type = /[a-z-]+/.exec((fields.get('feedback-type') ?? '').toLowerCase())?.[0] ?? 'abuse'
  if (!COMPLAINTS.includes(feedback_type)) return null
  const texts = [fields.get('original-mail-from') ?? '']
  for (const part of parts.filter(({ type }) => RETURNED.test(type) || type === 'text/plain')) {
    const { headers } = splitHeaders(Buffer.from(part.text.trimStart()))
    if (headers.has('message-id') || headers.has('received') || headers.has('return-path'))
      texts.push(...headers.values())
  }
  return { kind: 'complaint', feedback_type, texts: texts.filter(text => text !== '') }
}

const RETURNED = /^(?:message\/(?:rfc822|global|partial)|text\/rfc822-headers|message\/rfc822-headers)/

/** Some write the right fields into a part of the wrong type. */
function isMistaken({ type, text }: Part): boolean {
  return /^(?:text\/plain|application\/octet-stream|text\/)/.test(type) && /^\s*Feedback-Type:\s*[a-z]/i.test(text)
}
