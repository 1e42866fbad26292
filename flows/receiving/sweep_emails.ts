import type { Log } from '#lib/log.ts'
import { addJob } from '#sql/jobs.ts'
import type { Pool } from '#sql/pool.ts'
import { claimUnparsedEmails } from '#sql/receiving/emails_to_parse.ts'

/** Emails per job. */
const PARSED_TOGETHER = 100

/** Adds a new job for received emails whose job got lost before they were read. */
export async function sweepReceivedEmails(pool: Pool, log: Log): Promise<void> {
  for (;;) {
    const ids = await pool.transaction(async tx => {
      const claimed = await claimUnparsedEmails(tx, PARSED_TOGETHER)
      if (claimed.length > 0) await addJob(tx, 'parse_email', { ids: claimed })
      return claimed
    })
    if (ids.length > 0) log.warn({ count: ids.length }, 'received emails were not read in time')
    if (ids.length < PARSED_TOGETHER) return
  }
}
