import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { ROOT } from '#test/support/root.ts'

const MAIN = join(ROOT, 'client/cli/main.ts')

// biome-ignore lint/suspicious/noExplicitAny: the output has any shape
type Printed = any

export type Result = {
  code: number | null
  stdout: string
  stderr: string
  /** The lines of stdout, as JSON. */
  lines: Printed[]
  /** The last line of stderr, as JSON. */
  error: Printed
}

/** Runs the command line as a process with a separate environment. */
export class CommandLine {
  readonly #environment: Record<string, string>

  constructor(environment: Record<string, string>) {
    const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env // compiled code of test/setup.ts
    this.#environment = { PATH, NODE_COMPILE_CACHE, HOME: '/nonexistent', ...environment }
  }

  /** Runs a command until it ends. `input`: its standard input. */
  async run(args: string[], input: string | Buffer = ''): Promise<Result> {
    const child = spawn(process.execPath, [MAIN, ...args], { env: this.#environment })
    child.stdin.on('error', () => {}).end(input)
    const [stdout, stderr, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise<number | null>(resolve => child.once('exit', resolve)),
    ])
    return {
      ...{ code, stdout, stderr },
      get lines() {
        return stdout.trim() === ''
          ? []
          : stdout
              .trim()
              .split('\n')
              .map(line => JSON.parse(line))
      },
      get error() {
        return JSON.parse(stderr.trim().split('\n').at(-1) ?? '')
      },
    }
  }

  /** Starts a command that runs until it is stopped. */
  start(t: Test, args: string[]): { child: ChildProcess; output: () => string } {
    const child = spawn(process.execPath, [MAIN, ...args], { env: this.#environment })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (output += data))
    t.teardown(() => child.kill('SIGKILL'))
    return { child, output: () => output }
  }
}
