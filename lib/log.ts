import { type DestinationStream, type LogFn, type Logger, pino } from 'pino'
import { hideApiKeys } from './api_key.ts'
import { StartupError } from './errors.ts'
import { isOutage, kindOf, OUTAGE, Repeats } from './log_repeats.ts'

export type Log = Logger

/** Nothing below these names is ever written: a key in a log outlives the key. */
const secretPaths = ['authorization', 'password', 'secret', 'secret_key', 'private_key', 'api_key', 'token', 'content']

/** Where Postgres repeats the row it refused. */
const rowPaths = ['err.detail', 'err.where']

/**
 * What JSON lets through and a terminal or an editor obeys: the other control characters, line breaks of Unicode, and marks
 * that turn the direction of what follows. All of it is in strings, where an escape says the same.
 */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

const anywhere = (name: string) => [name, `*.${name}`, `*.*.${name}`]

/** One JSON line per record. Lines carry ids and states, never message bodies. */
export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: { pid: process.pid },
    hooks: { streamWrite: safeLine, logMethod: limitRepeats(new Repeats()) },
    redact: { paths: [...rowPaths, ...secretPaths.flatMap(anywhere)], censor: '[redacted]' },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** All of them go through here, so that no loop and no request has to think of it. */
function limitRepeats(repeats: Repeats) {
  return function (this: Logger, args: Parameters<LogFn>, method: LogFn, level: number): void {
    const [record, message] = args as [unknown, unknown]
    if (isOfOutage(record)) {
      repeats.tell(`${level} ${kindOf(String(message))}`, left_out => {
        method.apply(this, left_out > 0 ? ([{ ...record, left_out }, message] as Parameters<LogFn>) : args)
      })
    } else method.apply(this, args)
  }
}

function isOfOutage(record: unknown): record is object {
  if (typeof record !== 'object' || record === null) return false
  return (OUTAGE in record && record[OUTAGE] === true) || ('err' in record && isOutage(record.err))
}

/** A key may be in any text, such as a path that it was pasted into. */
function safeLine(line: string): string {
  return `${hideApiKeys(line.slice(0, -1)).replace(UNSAFE, escaped)}\n`
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Tells why a process ends: in a sentence where there is one, else in a record, as an error may hold what it was doing. */
export function reportFatal(error: unknown): void {
  if (error instanceof StartupError) console.error(error.message)
  else createLog('fatal', pino.destination({ fd: 2, sync: true })).fatal({ err: error }, 'the process ends')
}
