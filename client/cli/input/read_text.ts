import { fs } from '../builtins.ts'
import { cliError } from '../errors.ts'

/** Returns the text itself, or the content of the file that it names. */
export function readText(given: string): string {
  if (!given.startsWith('@')) return given
  if (given.startsWith('@@')) return given.slice(1)
  const path = given.slice(1)
  if (path === '-') return Buffer.from(readInput()).toString()
  try {
    return fs().readFileSync(path, 'utf8')
  } catch (error) {
    throw cliError(`${path} cannot be read: ${(error as Error).message}`, error)
  }
}

/** Reads the standard input to its end. Ctrl-C ends the process meanwhile, since no handler of the signal can run. */
export function readInput(): Uint8Array {
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
