import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

/** Nothing below these names is ever written: a key in a log outlives the key. */
const secretPaths = ['authorization', 'password', 'secret', 'secret_key', 'private_key', 'api_key', 'token', 'content']

/** Where Postgres repeats the row it refused. */
const rowPaths = ['err.detail', 'err.where']

const anywhere = (name: string) => [name, `*.${name}`, `*.*.${name}`]

/** One JSON line per record. Lines carry ids and states, never message bodies. */
export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: { pid: process.pid },
    redact: { paths: [...rowPaths, ...secretPaths.flatMap(anywhere)], censor: '[redacted]' },
  }
  return destination ? pino(options, destination) : pino(options)
}
