import { type DestinationStream, type LogFn, type Logger, pino } from 'pino'
import { hideApiKeys } from './api_key.ts'
import { StartupError } from './errors.ts'
import { isOutage, kindOf, OUTAGE, Repeats } from './log_repeats.ts'

export type Log = Logger

/** Members with these names are never written, since anybody who can read the log could use the key. */
const secretPaths = ['authorization', 'password', 'secret', 'secret_key', 'private_key', 'api_key', 'token', 'content']

/** Members in which Postgres repeats the row that it rejected. */
const rowPaths = ['err.detail', 'err.where']

/**
 * Characters that JSON leaves unescaped but terminals or editors act on: control characters, Unicode line breaks, and marks that
 * change the direction of text. All of them are inside JSON strings, where an escape means the same.
 */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

const anywhere = (name: string) => [name, `*.${name}`, `*.*.${name}`]

/** Creates a log that writes one line of JSON per record. Records have ids and states, never the bodies of messages. */
export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: { pid: process.pid },
    hooks: { streamWrite: safeLine, logMethod: limitRepeats(new Repeats()) },
    redact: { paths: [...rowPaths, ...secretPaths.flatMap(anywhere)], censor: '[redacted]' },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** Limits repeated lines for the whole log, so that no loop and no request has to do it. */
function limitRepeats(repeats: Repeats) {
  return function (this: Logger, args: Parameters<LogFn>, method: LogFn, level: number): void {
    const [record, message] = args as [unknown, unknown]
    if (isOfOutage(record)) {
      repeats.log(`${level} ${kindOf(String(message))}`, left_out => {
        method.apply(this, left_out > 0 ? ([{ ...record, left_out }, message] as Parameters<LogFn>) : args)
      })
    } else method.apply(this, args)
  }
}

function isOfOutage(record: unknown): record is object {
  if (typeof record !== 'object' || record === null) return false
  return (OUTAGE in record && record[OUTAGE] === true) || ('err' in record && isOutage(record.err))
}

/** Redacts the whole line, since a key may be in any text, such as a path into which somebody pasted it. */
function safeLine(line: string): string {
  return `${hideApiKeys(line.slice(0, -1)).replace(UNSAFE, escaped)}\n`
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Reports why the process ends: in a sentence for a StartupError, else as a log record, which redacts secrets in the error. */
export function reportFatal(error: unknown): void {
  if (error instanceof StartupError) console.error(error.message)
  else createLog('fatal', pino.destination({ fd: 2, sync: true })).fatal({ err: error }, 'the process ends')
}
