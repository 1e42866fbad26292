import { toCsvLine } from '#lib/files/csv/write_csv.ts'
import { listRecordErrors } from '#sql/contacts/import/record_errors.ts'
import type { Pool } from '#sql/pool.ts'

const PAGE = 1_000

/** Yields the records of a file that were not stored, as lines of CSV. */
export async function* exportRecordErrors(pool: Pool, of: { account_id: string; id: string }): AsyncGenerator<string> {
  yield toCsvLine(['row', 'line', 'email', 'outcome', 'message'])
  for (let after = '0'; ; ) {
    const { data, has_more } = await listRecordErrors(pool, of, { limit: PAGE, after })
    yield data.map(({ row, line, email, outcome, message }) => toCsvLine([row, line, email, outcome, message])).join('')
    if (!has_more) return
    after = data.at(-1)?.id as string
  }
}
