import { readHeader, splitMessage } from '#lib/mail/mime/header.ts'
import { type ReportPart, splitHeaders } from './mime_parts.ts'
import { findAddress, type Report } from './report.ts'

/** Types of reports that are complaints (RFC 5965 7.3, RFC 6650 3); others report failed checks, or mail that is not spam. */
const COMPLAINTS = ['abuse', 'fraud', 'virus', 'opt-out', 'opt-out-list', 'other', 'complaint']

/**
 * Parses a feedback report (RFC 5965). Our token may be in the original sender that it reports, and in the fields of the message
 * that it returns.
 */
export function readFeedbackReport(parts: ReportPart[]): Report | null {
  const report = parts.find(part => part.type === 'message/feedback-report' || isMislabelled(part))
  if (!report) return null
  const { headers: fields } = splitHeaders(Buffer.from(report.text.trimStart()))
  const feedback_type = /[a-z-]+/.exec((fields.get('feedback-type') ?? '').toLowerCase())?.[0] ?? 'abuse'
  if (!COMPLAINTS.includes(feedback_type)) return null
  return complaint(feedback_type, [fields.get('original-mail-from') ?? '', ...returnedValues(parts)])
}

/** Senders that return the message itself, without a feedback part: Outlook.com (JMRP), and Amazon for its customers. */
const STAFF = ['staff@hotmail.com', 'complaints@email-abuse.amazonses.com']

/** Tells from the headers whether `readPlainComplaint` could find a complaint. */
export function mayComplain(headers: Map<string, string>): boolean {
  return isFromStaff(headers) || headers.has('x-apple-unsubscribe')
}

/**
 * Parses a complaint that is not a feedback report: a message returned by the staff of its receiver, or the mail with which Apple
 * Mail unsubscribes its user, whose meaning depends on the address that it is sent to.
 */
export function readPlainComplaint(headers: Map<string, string>, parts: ReportPart[]): Report | null {
  if (/^true\b/i.test(headers.get('x-apple-unsubscribe') ?? '')) return complaint('opt-out', [])
  const isReturned = parts.some(({ type }) => RETURNED.test(type))
  return isFromStaff(headers) && isReturned ? complaint('abuse', returnedValues(parts)) : null
}

function isFromStaff(headers: Map<string, string>): boolean {
  const from = findAddress(headers.get('from') ?? '')
  return from !== null && STAFF.includes(from) && /^complaint about message from/i.test(headers.get('subject') ?? '')
}

function complaint(feedback_type: string, texts: string[]): Report {
  return { kind: 'complaint', feedback_type, texts: texts.filter(text => text !== '') }
}

/** Returns the field values of the returned message, from the parts that look like one. */
function returnedValues(parts: ReportPart[]): string[] {
  return parts
    .filter(({ type }) => RETURNED.test(type) || type === 'text/plain')
    .map(({ text }) => readHeader(splitMessage(Buffer.from(text.trimStart())).header))
    .filter(fields => fields.some(({ name }) => OF_MESSAGE.has(name)))
    .flatMap(fields => fields.map(({ value }) => value))
}

const OF_MESSAGE = new Set(['message-id', 'received', 'return-path'])

const RETURNED = /^(?:message\/(?:rfc822|global|partial)|text\/rfc822-headers|message\/rfc822-headers)/

/** Detects parts with the right fields but the wrong type. */
function isMislabelled({ type, text }: ReportPart): boolean {
  return /^(?:text\/plain|application\/octet-stream|text\/)/.test(type) && /^\s*Feedback-Type:\s*[a-z]/i.test(text)
}
