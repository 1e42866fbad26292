import { fs } from '../builtins.ts'
import { cliError } from '../errors.ts'

/** Returns the text itself, or the content of the file that it names. */
export function readText(given: string): string {
  if (!given.startsWith('@')) return given
  if (given.startsWith('@@')) return given.slice(1)
  const path = given.slice(1)
  if (path === '-') return decode(readInput())
  try {
    return decode(fs().readFileSync(path))
  } catch (error) {
    throw cliError(`${path} cannot be read: ${(error as Error).message}`, error)
  }
}

let isInputRead = false

/**
 * Reads the standard input to its end, which is possible once: the second time, it would be empty. Ctrl-C ends the process
 * meanwhile, since no handler of the signal can run.
 */
export function readInput(): Uint8Array {
  if (isInputRead) throw cliError('The standard input can be read only once: give one of the values in another way.')
  isInputRead = true
  const handlers = process.rawListeners('SIGINT') as (() => void)[]
  process.removeAllListeners('SIGINT')
  try {
    return fs().readFileSync(0)
  } catch (error) {
    throw cliError(`The standard input cannot be read: ${(error as Error).message}`, error)
  } finally {
    for (const handler of handlers) process.on('SIGINT', handler)
  }
}

/** Decodes UTF-8, or UTF-16 if a byte order mark says so, as PowerShell writes it. The text has no byte order mark. */
export function decode(bytes: Uint8Array): string {
  const [first, second] = bytes
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
  return new TextDecoder(encoding).decode(bytes)
}
