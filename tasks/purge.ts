import { giveUpOrphanedDoubts } from '#flows/delivery/decide_doubts.ts'
import { removeExpiredSuppressions } from '#flows/suppressions/change_suppressions.ts'
import { deleteExpiredWindows } from '#sql/accounts/rate_limits.ts'
import { deleteExpiredUsage } from '#sql/accounts/usage.ts'
import { deleteExpiredImport } from '#sql/contacts/import/delete_imports.ts'
import { deleteUnusedContents } from '#sql/contents/contents.ts'
import { deleteExpiredMtaStsPolicies } from '#sql/delivery/mta_sts_policies.ts'
import { deleteExpiredContactEvents } from '#sql/events/contact_events.ts'
import { deleteReports, forgetRawMessages } from '#sql/receiving/received_emails.ts'
import { deleteExpiredLogs } from '#sql/request_log/logs.ts'
import { deleteExpiredBatches } from '#sql/sending/batches.ts'
import { forgetExpiredEmails } from '#sql/sending/emails.ts'
import { deleteExpiredKeys } from '#sql/sending/idempotency_keys.ts'
import { deleteExpiredMetrics, foldMetrics } from '#sql/sending/metrics/keep_metrics.ts'
import { forgetAddresses } from '#sql/tracking/hits.ts'
import { deleteDeletedDeliveries, deleteDeletedWebhooks, deleteExpiredEvents } from '#sql/webhooks/purge.ts'
import type { Task, Work } from './task.ts'

/**
 * Deletes data whose retention time is over. A kind of data that cannot be deleted now, since another transaction holds it or
 * it takes too long, does not keep the others.
 */
export const purge: Task<'purge'> = async (_payload, work) => {
  const counts: Record<string, number> = {}
  const errors: unknown[] = []
  for (const [name, remove] of Object.entries(kindsOf(work))) {
    try {
      counts[name] = await remove()
    } catch (error) {
      errors.push(error)
    }
  }
  work.log.debug(counts, 'purged')
  if (errors.length > 0) throw new AggregateError(errors, 'some data could not be purged')
}

/** Returns a function for each kind of data, which returns how much it has deleted; in their order. */
function kindsOf(work: Work): Record<string, () => Promise<number>> {
  const { pool, config } = work
  return {
    keys: () => deleteExpiredKeys(pool),
    batches: () => deleteExpiredBatches(pool),
    windows: () => deleteExpiredWindows(pool),
    usage: () => deleteExpiredUsage(pool),
    folded: () => inBatches(limit => foldMetrics(pool, limit)),
    metrics: () => inBatches(limit => deleteExpiredMetrics(pool, limit)),
    suppressions: () => inBatches(limit => removeExpiredSuppressions(pool, limit)),
    logs: () => deleteExpiredLogs(pool, config.LOG_RETENTION_DAYS),
    policies: () => deleteExpiredMtaStsPolicies(pool),
    raw: () => forgetRaw(work),
    reports: () => inBatches(limit => deleteReports(pool, limit)),
    events: () => inBatches(limit => deleteExpiredEvents(pool, limit)),
    told: () => inBatches(limit => deleteDeletedDeliveries(pool, limit)),
    webhooks: () => deleteDeletedWebhooks(pool),
    contactEvents: () => inBatches(limit => deleteExpiredContactEvents(pool, limit)),
    imports: () => forgetImports(work),
    doubts: () => inBatches(limit => giveUpOrphanedDoubts(pool, limit)),
    emails: () => forgetEmails(work),
    addresses: () => inBatches(limit => forgetAddresses(pool, limit)),
    contents: () => inBatches(limit => deleteUnusedContents(pool, limit)),
    // Last, since the store may not be available.
    blobs: () => work.blobs.purge(),
  }
}

/** Maximum number of rows of one statement. */
const ROWS = 1_000

async function forgetRaw({ pool, config }: Work): Promise<number> {
  if (config.RAW_RETENTION_DAYS === 0) return 0
  return inBatches(limit => forgetRawMessages(pool, config.RAW_RETENTION_DAYS, limit))
}

/** Returns how many statements it took. */
async function forgetImports({ pool }: Work): Promise<number> {
  for (let count = 0; ; count++) if (!(await deleteExpiredImport(pool, 10 * ROWS))) return count
}

async function forgetEmails({ pool, config }: Work): Promise<number> {
  const days = config.EMAIL_RETENTION_DAYS
  return days === 0 ? 0 : inBatches(limit => forgetExpiredEmails(pool, days, limit))
}

/** Calls `forget` until nothing is left. Returns how many rows were deleted. */
async function inBatches(forget: (limit: number) => Promise<number>): Promise<number> {
  for (let count = 0; ; ) {
    const forgotten = await forget(ROWS)
    count += forgotten
    if (forgotten < ROWS) return count
  }
}
