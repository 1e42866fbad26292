import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseProcessStat } from '#test/support/process_stat.ts'
import { ROOT } from '#test/support/root.ts'

const KEPT_LINES = 500
const STOP_LIMIT = 60_000 // ms

/** The compile cache of the test suite (test/setup.ts). */
const { NODE_COMPILE_CACHE } = process.env
const cached = NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}

export type Exit = { code: number | null; signal: NodeJS.Signals | null }

/** A running process of a file of the project, or of another copy of the project if the path is absolute. */
export class Child {
  readonly pid: number
  /** The last lines of stdout and stderr. */
  readonly lines: string[] = []
  readonly ended: Promise<Exit>
  exit: Exit | null = null
  readonly #process: ChildProcess
  readonly #listeners = new Set<(line: string) => void>()

  constructor(file: string, environment: Record<string, string>, args: string[]) {
    this.#process = spawn(process.execPath, ['--expose-gc', resolve(ROOT, file), ...args], {
      env: { ...cached, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a separate process group, which Ctrl-C does not reach
    })
    this.pid = this.#process.pid as number
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', line => this.#hear(line))
    }
    const kill = () => this.killGroup('SIGKILL')
    process.once('exit', kill)
    this.ended = new Promise(end =>
      this.#process.once('close', (code, signal) => {
        process.removeListener('exit', kill)
        this.exit = { code, signal }
        end(this.exit)
      }),
    )
  }

  /** Returns the first matching line, printed already or later. */
  async says(pattern: RegExp, ms = 30_000): Promise<string> {
    const known = this.lines.find(line => pattern.test(line))
    if (known !== undefined) return known
    const heard = new Promise<string>(resolve => this.#listeners.add(line => pattern.test(line) && resolve(line)))
    const never = Promise.race([this.ended, sleep(ms, null, { ref: false })]).then(exit => {
      throw new Error(`${JSON.stringify(exit)} before ${pattern}:\n${this.lines.slice(-20).join('\n')}`)
    })
    return Promise.race([heard, never])
  }

  kill(signal: NodeJS.Signals): void {
    if (!this.exit) this.#process.kill(signal)
  }

  /** Kills the processes it forked too, as Ctrl-C and systemd do. */
  killGroup(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal)
    } catch {
      // The process has ended.
    }
  }

  /** Sends SIGTERM, and SIGKILL if the process does not end. */
  async stop(): Promise<Exit> {
    this.kill('SIGCONT')
    this.kill('SIGTERM')
    const limit = setTimeout(() => this.killGroup('SIGKILL'), STOP_LIMIT)
    return this.ended.finally(() => clearTimeout(limit))
  }

  /** Seconds of CPU time used by the process, or by one that it forked. */
  cpu(pid = this.pid): number {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8')).seconds
  }

  /** Resident memory in bytes: `VmRSS` is the current value, `VmHWM` the peak. */
  memory(field: 'VmRSS' | 'VmHWM'): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8')
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024
  }

  /** Resets the peak to the current value (proc_pid_clear_refs(5)). */
  forgetPeak(): void {
    writeFileSync(`/proc/${this.pid}/clear_refs`, '5')
  }

  #hear(line: string): void {
    this.lines.push(line)
    if (this.lines.length > KEPT_LINES) this.lines.shift()
    for (const listener of this.#listeners) listener(line)
  }
}

/** A process that is restarted whenever it ends, as by a supervisor with Restart=always. */
export class Supervised {
  child: Child
  readonly exits: Exit[] = []
  readonly #start: () => Child
  readonly #pause_ms: number
  #isStopping = false

  constructor(start: () => Child, pause_ms = 100) {
    this.#start = start
    this.#pause_ms = pause_ms
    this.child = start()
    this.#watch()
  }

  async stop(): Promise<Exit> {
    this.#isStopping = true
    return this.child.stop()
  }

  async #watch(): Promise<void> {
    while (!this.#isStopping) {
      this.exits.push(await this.child.ended)
      await sleep(this.#pause_ms)
      if (!this.#isStopping) this.child = this.#start()
    }
  }
}
