import { findAddress, type ReportedRecipient } from './report.ts'

const MAX_RECIPIENTS = 100

/**
 * Parses a delivery status notification (RFC 3464 2). Groups of fields are separated by the field that each recipient has once,
 * not by empty lines, which some programs omit and others put everywhere. A group without a recipient is skipped.
 */
export function readDeliveryStatus(text: string): ReportedRecipient[] {
  const groups: Map<string, string>[] = []
  let group = new Map<string, string>()
  let name = ''
  for (const line of text.split('\n')) {
    const [, key = '', value = ''] = /^\s{0,3}([A-Za-z][A-Za-z-]{2,40})\s*:(.*)$/s.exec(line) ?? []
    if (key && FIELDS.has(key.toLowerCase())) {
      name = key.toLowerCase()
      if (group.has(name) && startsAnother(name, group)) {
        groups.push(group)
        group = new Map()
      }
      if (!group.has(name)) group.set(name, value.trim())
    } else if (line.trim() === '') {
      name = ''
      if (group.has('final-recipient') && group.has('action')) {
        groups.push(group)
        group = new Map()
      }
    } else if (/^\s/.test(line) && name) {
      group.set(name, `${group.get(name)} ${line.trim()}`.slice(0, 2000))
    }
  }
  groups.push(group)
  return groups.slice(0, MAX_RECIPIENTS).flatMap(fields => readRecipient(fields) ?? [])
}

const FIELDS = new Set([
  ...['original-recipient', 'final-recipient', 'action', 'status', 'remote-mta', 'diagnostic-code'],
  ...['last-attempt-date', 'final-log-id', 'will-retry-until', 'x-actual-recipient', 'reporting-mta', 'arrival-date'],
  ...['original-envelope-id', 'received-from-mta', 'x-supplementary-info', 'x-display-name'],
])

function startsAnother(name: string, group: Map<string, string>): boolean {
  if (name === 'final-recipient') return true
  return group.has('final-recipient') && ['original-recipient', 'action', 'status'].includes(name)
}

function readRecipient(fields: Map<string, string>): ReportedRecipient | null {
  const final = fields.get('final-recipient') ?? fields.get('x-actual-recipient')
  const written = fields.get('original-recipient')
  if (final === undefined && written === undefined) return null
  const diagnostic = diagnosticOf(fields)
  const status = /\b([245]\.\d{1,3}\.\d{1,3})\b/.exec(fields.get('status') ?? '')?.[1] ?? null
  const action = actionOf(fields.get('action') ?? '', status ?? /\b([245]\.\d+\.\d+)\b/.exec(diagnostic)?.[1] ?? null)
  if (!action) return null
  const original = written === undefined ? null : addressOf(written)
  return { address: (final === undefined ? null : addressOf(final)) ?? original, original, action, status, diagnostic }
}

/** Parses `rfc822; x@y.com`, also without the type, with <>, or in the encoding of RFC 3461 4 (x+40y is x@y). */
function addressOf(value: string): string | null {
  const text = value.replace(/^[a-z0-9-]+\s*;/i, '').trim()
  return findAddress(text) ?? findAddress(text.replace(/\+40/g, '@'))
}

const ACTIONS = ['failed', 'delayed', 'delivered', 'relayed', 'expanded'] as const

function actionOf(value: string, status: string | null): ReportedRecipient['action'] | null {
  const word = /[a-z]+/.exec(value.toLowerCase())?.[0] ?? ''
  const known = ACTIONS.find(action => action === word)
  if (known) return known
  if (/^(?:fail|bounce|undeliver|reject|expired)/.test(word)) return 'failed'
  if (/^(?:delay|defer|retry)/.test(word)) return 'delayed'
  // Without a known word, only the class of the status is left.
  return status?.startsWith('5') ? 'failed' : null
}

/** Returns the diagnostic. Exchange writes more into a field of its own than into the standard one. */
function diagnosticOf(fields: Map<string, string>): string {
  const diagnostic = fields.get('diagnostic-code') ?? ''
  return (diagnostic || fields.get('x-supplementary-info') || '').replace(/\s+/g, ' ').slice(0, 1000)
}
