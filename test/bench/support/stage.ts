import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setUp } from '#flows/accounts/create_sandbox.ts'
import { type Foundation, layFoundation } from '#flows/process/run_process.ts'
import { readConfig } from '#lib/config.ts'
import { createLog } from '#lib/log.ts'
import { migrate } from '#sql/migrate.ts'
import { ROOT } from '#test/support/root.ts'
import { startEmbeddedPostgres } from '#workers/embedded_postgres/start.ts'

const SECRET_KEY = 'a secret key of the benchmark, of more than 32 characters'
/** In units of 16 MB: no benchmark writes more between two checkpoints. */
const WAL_FILES = 40

/** Files that start a separate process. */
type Program = 'workers/web.ts' | 'workers/smtp.ts' | `test/bench/support/${string}.ts`

/** The environment of a benchmark: a separate Postgres that syncs to disk, an account, and processes like the Procfile's. */
export type Stage = Foundation & {
  key: string
  spawn(file: Program, environment?: Record<string, string>): Promise<Child>
  close(): Promise<void>
}

export type Child = { process: ChildProcess; stop(): Promise<void> }

/** @param settings of Postgres, by name */
export async function openStage(settings: Record<string, string> = {}): Promise<Stage> {
  const directory = await mkdtemp(join(tmpdir(), 'mailbrook-bench-'))
  const postgres = await startEmbeddedPostgres(directory, { settings })
  await migrate(postgres.url)
  const config = readConfig({ DATABASE_URL: postgres.url, SECRET_KEY, LOG_LEVEL: 'warn', SENDS_PER_MINUTE: '0' })
  const foundation = await layFoundation(config, createLog('warn'))
  const key = (await setUp(foundation.pool, foundation.secrets)) as string
  await fillWal(foundation)
  const children = new Set<Child>()
  return {
    ...foundation,
    key,
    async spawn(file, environment = {}) {
      const child = await startChild(file, { ...environmentOf(postgres.url), ...environment })
      children.add(child)
      return child
    },
    async close() {
      for (const child of children) await child.stop()
      await foundation.pool.end()
      await postgres.stop()
      await rm(directory, { recursive: true })
    },
  }
}

/**
 * A server that has run for a while reuses its WAL files. A new one is first filled with zeros, by the process that needs it,
 * which takes a tenth of the time of storing emails.
 */
async function fillWal({ pool }: Foundation): Promise<void> {
  await pool.pg.query(`ALTER SYSTEM SET min_wal_size = '1GB'`) // kept for reuse
  await pool.pg.query('SELECT pg_reload_conf()')
  for (let n = 0; n < WAL_FILES; n++) {
    await pool.pg.query(`SELECT pg_logical_emit_message(false, '', '')`) // an empty one is not switched
    await pool.pg.query('SELECT pg_switch_wal()')
  }
  await pool.pg.query('CHECKPOINT')
}

function environmentOf(database_url: string): Record<string, string> {
  const { PATH = '' } = process.env
  return { PATH, DATABASE_URL: database_url, SECRET_KEY, LOG_LEVEL: 'info', SENDS_PER_MINUTE: '0' }
}

/** Starts a file of the project as a process, which is ready with its first line. */
function startChild(file: string, environment: Record<string, string>): Promise<Child> {
  const child = spawn(process.execPath, ['--expose-gc', join(ROOT, file)], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
    process.removeListener('exit', kill)
  }
  return new Promise((resolve, reject) => {
    exited.then(() => reject(new Error(`${file} ended`)))
    createInterface({ input: child.stdout }).on('line', line => {
      // A measurement is invalid if something failed meanwhile.
      if (/"level":[4-6]0/.test(line)) console.error(line)
      resolve({ process: child, stop })
    })
  })
}

export function median(values: number[]): number {
  return percentile(values, 0.5)
}

export function percentile(values: number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number
}

export const ROUNDS = 3

/** Runs every variant in turn, round after round, so that a machine that slows down affects all; returns the medians. */
export async function interleave<Name extends string>(
  variants: Record<Name, () => Promise<number>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(variants) as Name[]
  const figures = Object.fromEntries(names.map(name => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = 1; round <= ROUNDS; round++) {
    for (const name of names) {
      const figure = await variants[name]()
      figures[name].push(figure)
      console.log(`  round ${round}  ${name.padEnd(34)} ${figure.toFixed(0)}/s`)
    }
  }
  return Object.fromEntries(names.map(name => [name, median(figures[name])])) as Record<Name, number>
}

/** Prints a line of the result: a ratio or a time, with its goal. */
export function report(name: string, value: string, goal: string, isMet: boolean): void {
  console.log(`${isMet ? 'met   ' : 'MISSED'}  ${name}: ${value} (goal ${goal})`)
}
