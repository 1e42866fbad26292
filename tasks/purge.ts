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

/** Deletes data whose retention time is over. */
export const purge: Task<'purge'> = async (_payload, work) => {
  const keys = await deleteExpiredKeys(work.pool)
  const batches = await deleteExpiredBatches(work.pool)
  const windows = await deleteExpiredWindows(work.pool)
  const usage = await deleteExpiredUsage(work.pool)
  const folded = await inBatches(limit => foldMetrics(work.pool, limit))
  const metrics = await inBatches(limit => deleteExpiredMetrics(work.pool, limit))
  const suppressions = await inBatches(limit => removeExpiredSuppressions(work.pool, limit))
  const logs = await deleteExpiredLogs(work.pool, work.config.LOG_RETENTION_DAYS)
  const policies = await deleteExpiredMtaStsPolicies(work.pool)
  const raw = await forgetRaw(work)
  const reports = await inBatches(limit => deleteReports(work.pool, limit))
  const events = await inBatches(limit => deleteExpiredEvents(work.pool, limit))
  const told = await inBatches(limit => deleteDeletedDeliveries(work.pool, limit))
  const webhooks = await deleteDeletedWebhooks(work.pool)
  const contactEvents = await inBatches(limit => deleteExpiredContactEvents(work.pool, limit))
  const imports = await forgetImports(work)
  const emails = await forgetEmails(work)
  const addresses = await inBatches(limit => forgetAddresses(work.pool, limit))
  const contents = await inBatches(limit => deleteUnusedContents(work.pool, limit))
  // Last, since the store may not be available.
  const blobs = await work.blobs.purge()
  const ofWebhooks = { events, told, webhooks }
  work.log.debug(
    {
      keys,
      batches,
      emails,
      contents,
      addresses,
      blobs,
      usage,
      windows,
      folded,
      metrics,
      suppressions,
      logs,
      policies,
      raw,
      reports,
      ...ofWebhooks,
      contactEvents,
      imports,
    },
    'purged',
  )
}

/** Most rows of one statement. */
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
