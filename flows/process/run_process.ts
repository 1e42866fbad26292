import { setTimeout as sleep } from 'node:timers/promises'
import { type Config, readConfig } from '#lib/config.ts'
import { AbandonedError, AlreadyLoggedError, StartupError } from '#lib/errors.ts'
import { giveBackMemory } from '#lib/give_back_memory.ts'
import { createLog, type Log, reportFatal } from '#lib/log.ts'
import type { Secrets } from '#lib/secrets.ts'
import { refuseLostSessions } from '#sql/fitness.ts'
import { listPendingMigrations } from '#sql/migrations.ts'
import { unusable } from '#sql/outage.ts'
import { createPool, type Pool } from '#sql/pool.ts'
import { openSecrets } from './open_secrets.ts'
import { readDatabaseTime } from './sync_clock.ts'

/** Services that every process needs. */
export type Foundation = { config: Config; log: Log; pool: Pool; secrets: Secrets }

export type Running = {
  /** Finishes work in progress, within the limits of the process. */
  stop(): Promise<void>
  /** Rejects if the process can no longer work: it then exits with code 1, to be replaced. */
  failed?: Promise<never>
}

/** Opens the database and its secrets, and sets the clock from the database. @throws {StartupError} */
export async function layFoundation(config: Config, log: Log = createLog(config.LOG_LEVEL)): Promise<Foundation> {
  if (!config.DATABASE_URL || !config.SECRET_KEY) throw new StartupError('DATABASE_URL is not set.')
  const pool = createPool(config.DATABASE_URL, { onError: error => log.warn({ err: error }, 'a connection was lost') })
  try {
    await refuseLostSessions(config.DATABASE_URL)
    const pending = await listPendingMigrations(pool)
    if (pending.length > 0) throw new StartupError(`The database is not up to date; run: npm run migrate`)
    await readDatabaseTime(pool)
    return { config, log, pool, secrets: await openSecrets(pool, config.SECRET_KEY) }
  } catch (error) {
    await pool.end()
    throw unusable(error)
  }
}

/** Starts a process of the Procfile with its own foundation, which is closed with it. */
export async function startOnFoundation(start: (foundation: Foundation) => Promise<Running>): Promise<Running> {
  const foundation = await layFoundation(readConfig())
  const running = await start(foundation).catch(async error => {
    await foundation.pool.end()
    throw unusable(error)
  })
  const stop = async () => {
    await running.stop()
    await foundation.pool.end()
  }
  return { ...running, stop }
}

/** The same signal may arrive twice: Ctrl-C reaches both npm and us, and npm passes it on. */
const SAME_SIGNAL_MS = 1_000

/**
 * Handles that are still open after everything has stopped, such as a connection to a dead database, are cut off after
 * this time.
 */
const LINGER_MS = 3_000

/** Time that a start in progress gets after a signal: it may be waiting for a database that hangs. */
const START_MS = 5_000

/**
 * Starts a process and stops it on SIGTERM, SIGINT or SIGHUP (its terminal was closed); a later signal exits at once.
 * An unexpected error also stops it, with code 1: work in progress is finished before the process is replaced.
 */
export async function superviseProcess(start: () => Promise<Running>): Promise<void> {
  const stopped = Promise.withResolvers<void>()
  let signalled_at = Number.POSITIVE_INFINITY
  const onSignal = () => {
    if (performance.now() > signalled_at + SAME_SIGNAL_MS) process.exit(1)
    signalled_at = Math.min(signalled_at, performance.now())
    stopped.resolve()
  }
  const onError = (error: unknown) => {
    report(error)
    stopped.resolve()
  }
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, onSignal)
  process.on('uncaughtException', onError) // includes unhandled rejections
  try {
    const running = await Promise.race([start(), stopped.promise.then(() => sleep(START_MS, null, { ref: false }))])
    if (!running) process.exit(1)
    giveBackMemory()
    await Promise.race([stopped.promise, ...(running.failed ? [running.failed] : [])]).catch(report)
    await running.stop()
  } catch (error) {
    report(error)
    if (error instanceof AbandonedError) process.exit()
  }
  setTimeout(() => process.exit(), LINGER_MS).unref()
}

function report(error: unknown): void {
  process.exitCode = 1
  if (!(error instanceof AlreadyLoggedError)) reportFatal(error)
}
