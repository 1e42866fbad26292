import { Logger } from 'graphile-worker'
import pg from 'pg'
import type { Log } from '#lib/log.ts'
import { isOutage, OUTAGE } from '#lib/log_repeats.ts'

/** Connections of a runner, which every worker has two of. */
export const RUNNER_CONNECTIONS = 4

/**
 * Opens a pool for graphile-worker to use, which the caller ends. A pool of its own would be ended without a listener for
 * errors: a connection that is lost at that moment would end the process.
 */
export function openGraphilePool(database_url: string, max: number, log: Logger): pg.Pool {
  const pool = new pg.Pool({ connectionString: database_url, max })
  const onError = (error: Error) => log.error(`a connection was lost: ${error.message}`, { error })
  pool.on('error', onError)
  pool.on('connect', client => client.on('error', onError))
  return pool
}

export const silentLogger = new Logger(() => () => {})

/** As pg and Node say that there is no connection: in the message alone, with some. */
const LOST = /ECONN|EPIPE|ETIMEDOUT|terminat|not queryable|timeout exceeded|starting up|shutting down|recovery mode/

/** graphile-worker's log in ours. Its `info` is about each job, so it is `debug` here. */
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
