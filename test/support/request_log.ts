import type { Pool } from '#sql/pool.ts'
import type { LogRecord } from '#sql/request_log/logs.ts'
import { waitUntil } from './wait_until.ts'
import type { TestAccount } from './world.ts'

/** The requests of an account, newest first, once there are as many as given. */
export async function readLogs(pool: Pool, account: TestAccount, count: number): Promise<LogRecord[]> {
  const find = async () => {
    const { rows } = await pool.pg.query('SELECT * FROM logs WHERE account_id = $1 ORDER BY id DESC', [account.id])
    return rows.length >= count && rows
  }
  return waitUntil(find, `${count} requests are logged`)
}

export type LogRow = { method?: string; endpoint?: string; status?: number; user_agent?: string; created_at?: string }

/** Stores requests of an account, the last one newest; returns their ids. */
export async function insertLogRows(pool: Pool, account: TestAccount, logs: LogRow[]): Promise<string[]> {
  const ids = []
  for (const { method = 'GET', endpoint = '/emails', status = 200, user_agent = 'test', created_at = 'now' } of logs) {
    const { rows } = await pool.pg.query(
      `INSERT INTO logs (account_id, created_at, method, endpoint, response_status, user_agent)
       VALUES ($1, $2, $3, $4, $5, $6) RETURNING id::text`,
      [account.id, created_at, method, endpoint, status, user_agent],
    )
    ids.push(rows[0].id)
  }
  return ids
}
