import { isAbsenceNote } from '#lib/receiving/replies/automatic_mail.ts'
import { readDeliveryStatus } from './delivery_status.ts'
import { mayComplain, readFeedbackReport, readPlainComplaint } from './feedback_report.ts'
import { parameterOf, type ReportPart, readHeaders, readParts } from './mime_parts.ts'
import { withCommands } from './refused_command.ts'
import { findAddress, type Report, type ReportedRecipient } from './report.ts'
import { decodeField } from './report_text.ts'
import { readTextBounce } from './text_bounce.ts'

/** Whether a message came to a return path. `path`: it did; `null`: it did, with the null sender. */
export type Path = 'none' | 'path' | 'null'

/**
 * Parses a report about a message that was sent: a delivery status notification (RFC 3464), a feedback report (RFC 5965), or a
 * bounce in plain text. Returns null for anything else, such as a reply that quotes a report. The content is untrusted: the
 * caller decides whether it is about mail of ours.
 */
export function readReport(raw: Uint8Array, path: Path = 'none'): Report | null {
  const headers = readHeaders(raw)
  const type = headers.get('content-type') ?? ''
  const isReport = /^\s*multipart\/report/i.test(type)
  const mayReturn = path === 'null' && !isReply(headers)
  if (!isReport && !mayReturn && !isFromDaemon(headers) && !mayComplain(headers)) return null
  const { parts } = readParts(raw)
  const complaint = isReport ? readFeedbackReport(parts) : readPlainComplaint(headers, parts)
  if (complaint) return complaint
  if (isReceipt(type, parts)) return null
  const isWhole = returnsMessage(parts)
  const isBounce = isFromDaemon(headers) || isStatus(type) || (mayReturn && isWhole)
  const own = readStatuses(parts)
  const recipients = own.length > 0 || !isBounce ? own : readStatuses(wrappedParts(parts))
  if (recipients.length > 0) {
    const words = wordsOf(parts)
    return { kind: 'delivery', recipients: withCommands(recipients, parts).map(one => withWords(one, words)) }
  }
  // A notice that came to a return path needs no name: the path tells the recipient.
  const bounces = isBounce ? readTextBounce(headers, parts, isWhole && path !== 'none') : []
  return bounces.length > 0 ? { kind: 'delivery', recipients: withCommands(bounces, parts) } : null
}

/**
 * Tells whether a message that `readReport` could not parse is probably a report of failure: by its type, or because a program
 * sent it to a return path.
 */
export function seemsReport(raw: Uint8Array, path: Path): boolean {
  const headers = readHeaders(raw)
  const type = headers.get('content-type') ?? ''
  if (/^\s*multipart\/report/i.test(type)) {
    const { parts } = readParts(raw)
    return !isReceipt(type, parts) && !parts.some(part => part.type === 'message/feedback-report')
  }
  if (path === 'none') return false
  return isFromDaemon(headers) || (path === 'null' && !isReply(headers))
}

/** Absence notes have the null sender too. Exchange says `auto-generated` in them, as in its bounces. */
function isReply(headers: Map<string, string>): boolean {
  if (/^auto-replied/i.test(headers.get('auto-submitted') ?? '')) return true
  return isAbsenceNote(Object.fromEntries(headers), decodeField(headers.get('subject') ?? ''))
}

/** Detects a delivery status notification by its type, whoever sent it. */
function isStatus(type: string): boolean {
  return /^\s*multipart\/report/i.test(type) && /^delivery-status$/i.test(parameterOf(type, 'report-type') ?? '')
}

/** Detects a returned message, which bounces of any sender have, but no absence note. */
function returnsMessage(parts: ReportPart[]): boolean {
  return parts.some(
    ({ type, text }) =>
      /^(?:message\/(?:rfc822|global)|text\/rfc822-headers)/.test(type) ||
      (type === 'text/plain' && /^Received: /m.test(text)),
  )
}

function readStatuses(parts: ReportPart[]): ReportedRecipient[] {
  return parts.flatMap(part => (mayBeStatus(part) ? readDeliveryStatus(part.text) : []))
}

/** Returns the parts of notifications that a gateway has attached to a notice of its own. */
function wrappedParts(parts: ReportPart[]): ReportPart[] {
  return parts
    .filter(({ type }) => type === 'message/rfc822')
    .map(({ text }) => Buffer.from(text))
    .filter(raw => isStatus(readHeaders(raw).get('content-type') ?? ''))
    .flatMap(raw => readParts(raw).parts)
}

/** Detects a delivery status, which some declare as text or as a file. */
function mayBeStatus({ type, text }: ReportPart): boolean {
  if (/^message\/(?:global-)?delivery-status$/.test(type)) return true
  const mayBe = /^(?:text\/(?:plain|rfc822-headers)|message\/(?!rfc822)|application\/octet-stream|multipart\/)/.test(
    type,
  )
  return mayBe && /^(?:Final|Original)-Recipient:/im.test(text) && /^(?:Action|Status):/im.test(text)
}

/** Detects a disposition notification (RFC 8098), which reports that the message was read or deleted, and so has arrived. */
function isReceipt(type: string, parts: ReportPart[]): boolean {
  return (
    /disposition-notification/i.test(parameterOf(type, 'report-type') ?? '') ||
    parts.some(part => part.type === 'message/disposition-notification')
  )
}

const DAEMON =
  /mailer[- ]?daemon|post[-_]?master|\bndr\b|mail[-_. ]?(?:delivery|daemon|system|administrator)|\bmdaemon\b|microsoftexchange[0-9a-f]|mail ?delivery ?(?:sub)?system|delivery ?(?:sub)?system|\bbounces?\b.*@|^<>$/i

/** Maximum characters of a From field that are searched, since senders may make it as long as the header. */
const MAX_FROM = 1_000

/** Tells whether the sender is a program that writes bounces, and not a person. */
function isFromDaemon(headers: Map<string, string>): boolean {
  const from = decodeField((headers.get('from') ?? '').slice(0, MAX_FROM))
  const inner = /<([^>]*)>/.exec(from)?.[1]
  // Some write <MAILER-DAEMON>, without a domain.
  const address = findAddress(inner ?? from) ?? inner ?? ''
  return DAEMON.test(`${address.replace(/@.*/, '@')} ${from.replace(/<[^>]*>/, '')}`) || from.trim() === '<>'
}

/**
 * If neither the status nor the diagnostic says why, adds the words before them, if there are any. Words may end in the footer of
 * a virus scanner, so a status that names the cause counts alone.
 */
function withWords(recipient: ReportedRecipient, words: string): ReportedRecipient {
  if (/^[45]\.[12]\.[1-9]/.test(recipient.status ?? '')) return recipient
  if (/[a-z]{3}/i.test(recipient.diagnostic.replace(/^[a-z0-9-]+;/i, ''))) return recipient
  const at = recipient.address ? words.toLowerCase().indexOf(recipient.address) : -1
  const said = at === -1 ? words.slice(0, 600) : words.slice(at + (recipient.address?.length ?? 0), at + 600)
  return { ...recipient, diagnostic: `${recipient.diagnostic} ${said}`.replace(/\s+/g, ' ').trim().slice(0, 1000) }
}

/** Maximum characters of a notice that are searched for each of its recipients. */
const MAX_WORDS = 20_000

function wordsOf(parts: ReportPart[]): string {
  const notice = parts.find(part => part.type === 'text/plain' && !mayBeStatus(part))
  return notice?.text.slice(0, MAX_WORDS) ?? ''
}
