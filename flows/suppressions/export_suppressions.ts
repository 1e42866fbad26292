import { toCsvLine } from '#lib/files/csv/write_csv.ts'
import type { Pool } from '#sql/pool.ts'
import { listSuppressions } from '#sql/suppressions/suppressions.ts'

const PAGE = 1_000

/** Yields the suppressions of an account as lines of CSV, newest first. */
export async function* exportSuppressions(pool: Pool, account_id: string): AsyncGenerator<string> {
  yield toCsvLine(['email', 'reason', 'cause', 'expires_at', 'created_at'])
  for (let after: string | undefined; ; ) {
    const { data, has_more } = await listSuppressions(pool, account_id, {}, { limit: PAGE, after })
    const lines = data.map(one => toCsvLine([one.email, one.reason, one.cause, one.expires_at, one.created_at]))
    yield lines.join('')
    if (!has_more) return
    after = data.at(-1)?.id
  }
}
