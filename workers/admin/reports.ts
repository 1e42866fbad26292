import { validate as isUuid } from 'uuid'
import { createBlobs } from '#flows/files/blobs.ts'
import { findUnappliedReport, listUnappliedReports } from '#sql/receiving/unapplied_reports.ts'
import { type Command, listLimit, printable, takes, UsageError } from './values.ts'

/** Commands for received reports that had no effect. */
export const reportCommands: Record<string, Command> = {
  'report list': takes(0, ['limit'], async ({ pool }, values) => {
    for (const report of await listUnappliedReports(pool, listLimit(values))) {
      const { id, created_at, account, mail_from, subject, reason } = report
      const from = `<${mail_from}>`
      const words = [id, created_at.toISOString(), account, from, reason, subject ?? '(unreadable)']
      console.log(words.map(printable).join('  '))
    }
  }),

  'report show': takes(1, [], async (foundation, _values, [id]) => {
    if (!id || !isUuid(id)) throw new UsageError('Which report? Its id is in: report list')
    const found = await findUnappliedReport(foundation.pool, id)
    if (!found) throw new UsageError(`There is no such report: ${id}`)
    if (!found.raw_blob_id) throw new UsageError(`The raw message of ${id} is not kept any more (RAW_RETENTION_DAYS).`)
    const blobs = createBlobs(foundation)
    try {
      for await (const chunk of blobs.read(found.account_id, found.raw_blob_id)) process.stdout.write(chunk)
    } finally {
      blobs.close()
    }
  }),
}
