import { Logger } from 'graphile-worker'
import type { Log } from '../lib/log.ts'

/** Connections of a runner, which every worker has two of. */
export const RUNNER_CONNECTIONS = 4

export const silentLogger = new Logger(() => () => {})

/** graphile-worker's log in ours. Its `info` is about each job, so it is `debug` here. */
export function graphileLogger(log: Log): Logger {
  return new Logger(() => (level, message, meta) => {
    const write = level === 'error' ? log.error : level === 'warning' ? log.warn : log.debug
    write.call(log, { graphile: meta?.label }, message)
  })
}
