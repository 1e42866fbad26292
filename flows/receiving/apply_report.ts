import { explainReplyClass } from '#lib/delivery/smtp_reply.ts'
import { newId } from '#lib/ids.ts'
import { judgeRecipient } from '#lib/receiving/reports/judge_recipient.ts'
import { readReport, seemsReport } from '#lib/receiving/reports/read_report.ts'
import type { Report, ReportedRecipient } from '#lib/receiving/reports/report.ts'
import type { Tx } from '#sql/pool.ts'
import { applyReportedOutcome, type ReportedDelivery, type ReportedOutcome } from '#sql/receiving/reports.ts'

/** Returns the delivery of a return path that we have signed, else null. */
type FindDelivery = (address: string) => Promise<ReportedDelivery | null>

export type ReadReport = {
  isReport: boolean
  /** Outcomes to store for deliveries; empty if the report proves nothing or reports no failure. */
  outcomes: ReportedOutcome[]
  /** Why the report has no effect although it should; null if no effect is expected. */
  fault: string | null
}

const UNREAD = 'It looks like a report, but could not be read.'
const UNKNOWN = 'It matches no delivery: it was not sent to a return path of ours, and contains none.'

const RETURN_PATH = /b-[a-z2-7]{42}@[\w.-]{1,255}/gi
/** Maximum number of return paths looked up per message; more are abuse. */
const MAX_TOKENS = 5

/**
 * Reads a message if it is a report. Anybody can write one, so it counts only for deliveries whose signed return path it was sent
 * to, regardless of the recipients that it names: only the receiver of an email knows its return path. A complaint is not sent to
 * the return path but contains it in the returned message.
 */
export async function findReport(
  raw: Uint8Array,
  { mail_from, received_for }: { mail_from: string; received_for: string[] },
  find: FindDelivery,
): Promise<ReadReport> {
  const reached = await findNamed(received_for, find)
  const path = reached.length === 0 ? 'none' : mail_from === '' ? 'null' : 'path'
  const report = readReport(raw, path)
  const deliveries = report?.kind === 'complaint' ? await findNamed([...received_for, ...report.texts], find) : reached
  if (!report) {
    return { isReport: false, outcomes: [], fault: seemsReport(raw, path) ? UNREAD : null }
  }
  const outcomes = new Map(
    deliveries.flatMap(delivery => {
      const outcome = outcomeOf(report, delivery)
      return outcome ? [[outcome.delivery_id, outcome]] : []
    }),
  )
  const hasFailed = report.kind === 'complaint' || report.recipients.some(({ action }) => action === 'failed')
  return {
    isReport: true,
    outcomes: [...outcomes.values()],
    fault: hasFailed && deliveries.length === 0 ? UNKNOWN : null,
  }
}

/** Returns the deliveries whose return paths occur in these texts. */
async function findNamed(texts: string[], find: FindDelivery): Promise<ReportedDelivery[]> {
  const tokens = texts.flatMap(text => text.toLowerCase().match(RETURN_PATH) ?? [])
  const found: ReportedDelivery[] = []
  for (const token of [...new Set(tokens)].slice(0, MAX_TOKENS)) {
    const delivery = await find(token)
    if (delivery) found.push(delivery)
  }
  return found
}

/** @throws while a delivery is still being sent, since its own outcome must be written first */
export async function applyReport(tx: Tx, outcomes: ReportedOutcome[]): Promise<void> {
  for (const outcome of outcomes) {
    if ((await applyReportedOutcome(tx, outcome)) === 'sending') {
      throw new Error('a report came before the result of its delivery was written')
    }
  }
}

function outcomeOf(report: Report, { account_id, id, recipient }: ReportedDelivery): ReportedOutcome | null {
  const delivery = { account_id, delivery_id: id }
  if (report.kind === 'complaint') {
    const reason = `The recipient complained (${report.feedback_type}).`
    const none = { reply: null, class: null, bounce: null }
    return { ...delivery, ...none, outcome: 'complained', reason, suppression_id: newId() }
  }
  const failed = findFailed(report.recipients, recipient.toLowerCase())
  if (!failed) return null
  const { outcome, class: cause, bounce, reply } = judgeRecipient(failed)
  const reason = explainReplyClass({ outcome, class: cause })
  const suppression_id = outcome === 'bounced' ? newId() : null
  return { ...delivery, outcome, reason, reply, class: cause, bounce, suppression_id }
}

/**
 * Finds the failed recipient of a report: ours, or those to which its server redirected it; then all of them must have
 * failed.
 */
function findFailed(recipients: ReportedRecipient[], address: string): ReportedRecipient | null {
  const own = recipients.filter(one => one.address === address || one.original === address)
  const meant = own.length > 0 ? own : recipients
  return meant.every(({ action }) => action === 'failed') ? (meant[0] ?? null) : null
}
