import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

/** Nothing below these names is ever written: a key in a log outlives the key. */
const secretPaths = ['authorization', 'password', 'secret', 'secret_key', 'private_key', 'api_key', 'token', 'content']

/** One JSON line per record. Lines carry ids and states, never message bodies. */
export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: { pid: process.pid },
    redact: { paths: secretPaths.flatMap(name => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
  }
  return destination ? pino(options, destination) : pino(options)
}
