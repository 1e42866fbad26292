import { setTimeout as sleep } from 'node:timers/promises'
import { databaseChecks } from '#flows/doctor/database.ts'
import type { Config } from '#lib/config.ts'
import { about, type Check, type Finding } from '#lib/doctor/finding.ts'
import type { Site, TransportKind } from '#lib/doctor/site.ts'
import { StartupError } from '#lib/errors.ts'
import { listPendingMigrations } from '#sql/migrations.ts'
import { adviceFor, sqlState } from '#sql/outage.ts'
import { createPool, type Pool } from '#sql/pool.ts'
import { listDomainTransports } from '#sql/process/doctor.ts'
import { joinDatabase, type LocalDatabase } from '#workers/embedded_postgres/local_database.ts'

/** The database that the doctor checks, or a finding that says why it cannot be checked. */
export type Patient = {
  config: Config
  findings: Finding[]
  /** As in `Site`. */
  transports: TransportKind[]
  checks(site: Site): Check[]
  close(): Promise<void>
}

/** Longest time until the first response of the database. */
const PATIENCE_MS = 4_000

const GOODBYE_MS = 2_000

const report = about('Postgres')

/** Connects to the database. Does not reject if it cannot be reached: that is a finding. */
export async function openPatient(config: Config): Promise<Patient> {
  const absent = (finding: Finding) => ({
    config,
    findings: [finding],
    transports: [],
    checks: () => [],
    close,
  })
  const close = async () => {}
  try {
    const database = await within(PATIENCE_MS, joinDatabase(config))
    if (database) return await examine(database)
    const finding =
      'DATABASE_URL is not set, and the embedded Postgres of .data/ does not run, so the database was not checked.'
    return absent(report.unknown(finding, 'npm start   (and beside it: npm run doctor)'))
  } catch (error) {
    if (!(error instanceof StartupError || error instanceof LateError)) throw error
    return absent(report.problem(error.message))
  }
}

async function examine({ config, stop }: LocalDatabase): Promise<Patient> {
  const pool = createPool(config.DATABASE_URL as string, { application_name: 'mailbrook doctor' })
  const close = async () => {
    // A database that no longer responds would keep its connections for long.
    await Promise.race([pool.end().then(stop), sleep(GOODBYE_MS)])
  }
  try {
    const { pending, transports } = await within(PATIENCE_MS, ask(pool))
    const findings = [migrationsFinding(pending)]
    return {
      config,
      findings,
      transports,
      checks: site => databaseChecks(pool, site, pending.length === 0),
      close,
    }
  } catch (error) {
    const { message } = error as Error
    const said = sqlState(error) === null ? `It cannot be reached: ${message}` : `It cannot be read: ${message}`
    const finding = report.problem(said, adviceFor(error) ?? `psql '${withoutPassword(config)}'`)
    return { config, findings: [finding], transports: [], checks: () => [], close }
  }
}

async function ask(pool: Pool): Promise<{ pending: string[]; transports: TransportKind[] }> {
  const pending = await listPendingMigrations(pool)
  return { pending, transports: pending.length === 0 ? await listDomainTransports(pool) : [] }
}

function migrationsFinding(pending: string[]): Finding {
  const { ok, problem } = about('migrations')
  if (pending.length === 0) return ok('The database is up to date.')
  const count = pending.length === 1 ? '1 migration' : `${pending.length} migrations`
  const finding = `The database lacks ${count}, from ${pending[0]} on.`
  return problem(finding, 'npm run migrate   (npm start does it by itself)')
}

class LateError extends Error {}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new LateError(`no reply in ${ms / 1000} s`)), ms)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}

function withoutPassword({ DATABASE_URL }: Config): string {
  const url = new URL(DATABASE_URL as string)
  url.password = ''
  return url.href
}
