import { Logger } from 'graphile-worker'
import type { Log } from '#lib/log.ts'
import { isOutage, OUTAGE } from '#lib/log_repeats.ts'

/** Connections of a runner, which every worker has two of. */
export const RUNNER_CONNECTIONS = 4

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
