import { Logger } from 'graphile-worker'
import pg from 'pg'
import type { Log } from '#lib/log.ts'
import { isOutage, OUTAGE } from '#lib/log_repeats.ts'
import { replaceStale } from './outage.ts'

/** Connections of a runner; each worker has two runners. */
export const RUNNER_CONNECTIONS = 4

/**
 * Opens a pool for graphile-worker, which the caller must end. graphile-worker would end its own pool without an error
 * listener, so a connection lost at that moment would end the process.
 */
export function openGraphilePool(database_url: string, max: number, log: Logger): pg.Pool {
  const pool = new pg.Pool({ connectionString: database_url, max, onConnect: skipDiskWaits })
  const onError = (error: Error) => log.error(`a connection was lost: ${error.message}`, { error })
  pool.on('error', onError)
  pool.on('connect', client => client.on('error', onError))
  replaceStale(pool)
  return pool
}

/**
 * Lets no commit of graphile-worker wait for the disk, which would delay each job twice: it only schedules, takes and completes
 * jobs. If Postgres crashes, the last of these jobs are run again. Behind a pooler, which reports another process id than
 * Postgres, nothing is changed: others may use the connection too.
 */
async function skipDiskWaits(client: pg.ClientBase & { processID?: number | null }): Promise<void> {
  await client.query(`SELECT set_config('synchronous_commit', 'off', false) WHERE pg_backend_pid() = $1`, [
    client.processID,
  ])
}

export const silentLogger = new Logger(() => () => {})

/** Messages of pg and Node for a lost connection; some errors have nothing but the message. */
const LOST = /ECONN|EPIPE|ETIMEDOUT|terminat|not queryable|timeout exceeded|starting up|shutting down|recovery mode/

/** Writes graphile-worker's log to ours. Its `info` is about single jobs, so it becomes `debug`. */
export function graphileLogger(log: Log): Logger {
  return new Logger(() => (level, message, meta) => {
    const write = level === 'error' ? log.error : level === 'warning' ? log.warn : log.debug
    const error = meta?.error ?? meta?.fatalError
    write.call(
      log,
      { graphile: meta?.label, [OUTAGE]: isOutage(error) || LOST.test(`${message} ${allOf(error)}`) },
      message,
    )
  })
}

function allOf(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(allOf).join(' ') : String(error)
}
