import type { Config } from '#lib/config.ts'
import { about, type Finding } from '#lib/doctor/finding.ts'
import { checkDisk } from '#lib/doctor/host.ts'
import { RUNNER_CONNECTIONS } from '#sql/graphile.ts'
import { OLDEST_POSTGRES } from '#sql/migrations.ts'
import { POOL_CONNECTIONS, type Pool } from '#sql/pool.ts'
import { findServer, listServerSettings, type Server, type ServerSetting } from '#sql/process/postgres_server.ts'
import { countWorkers } from './queue.ts'

const report = about('Postgres')

/**
 * Without these a crash may lose data that was acknowledged with 200. Any other value of the first also waits for the
 * disk.
 */
const DURABLE = ['synchronous_commit', 'fsync', 'full_page_writes']

const READ_ONLY = 'default_transaction_read_only'

/** Connections reserved for others; the second setting exists since Postgres 16. */
const RESERVED = ['superuser_reserved_connections', 'reserved_connections']

/** Checks the version of the server and its settings. */
export async function checkPostgres(pool: Pool, config: Config, isUpToDate: boolean): Promise<Finding[]> {
  const workers = isUpToDate ? Math.max(1, await countWorkers(pool)) : 1
  const server = await findServer(pool)
  const settings = await listServerSettings(pool, [...DURABLE, READ_ONLY, 'max_connections', ...RESERVED])
  return [
    checkVersion(server),
    ...checkWritable(server, settings),
    ...settings.filter(({ name }) => DURABLE.includes(name)).map(setting => checkDurable(setting, server)),
    checkConnections(server, settings, config, workers),
    ...(await checkServerDisk(server)),
  ]
}

function checkVersion({ version, version_number }: Server): Finding {
  if (version_number >= OLDEST_POSTGRES * 10_000) return report.ok(`Version ${version}.`)
  return report.problem(
    `Version ${version} is older than ${OLDEST_POSTGRES}.`,
    'Upgrade it: pg_upgrade, or a dump into a newer one',
  )
}

function checkWritable(server: Server, settings: ServerSetting[]): Finding[] {
  const { is_standby, is_read_only } = server
  if (!is_read_only) return []
  if (is_standby) {
    return [report.problem('It is a standby: nothing is accepted or sent.', 'DATABASE_URL=that of the primary')]
  }
  const setting = settings.find(({ name }) => name === READ_ONLY)
  return [report.problem(`${READ_ONLY} is on: nothing is accepted or sent.`, setting && undo(setting, server))]
}

function checkDurable(setting: ServerSetting, server: Server): Finding {
  const { name, setting: value } = setting
  if (value !== 'off') return report.ok(`${name} is ${value}.`)
  return report.problem(`${name} is off: a crash may lose email that was accepted with 200.`, undo(setting, server))
}

/** Returns how to undo a setting where it was made. */
function undo({ name, setting, source }: ServerSetting, { database, role }: Server): string {
  switch (source) {
    case 'database':
      return `ALTER DATABASE ${quoted(database)} RESET ${name};`
    case 'user':
      return `ALTER ROLE ${quoted(role)} RESET ${name};`
    case 'database user':
      return `ALTER ROLE ${quoted(role)} IN DATABASE ${quoted(database)} RESET ${name};`
    case 'client':
      return `Remove ${name} from the options of DATABASE_URL and from PGOPTIONS.`
    case 'command line':
      return `Start Postgres without -c ${name}=${setting}.`
    default:
      return `ALTER SYSTEM SET ${name} = ${setting === 'on' ? 'off' : 'on'}; SELECT pg_reload_conf();`
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function checkConnections(
  { connections, connection_limit }: Server,
  settings: ServerSetting[],
  { WEB_CONCURRENCY }: Config,
  workers: number,
): Finding {
  const numberOf = (name: string) => Number(settings.find(setting => setting.name === name)?.setting ?? 0)
  const reserved = RESERVED.map(numberOf).reduce((sum, count) => sum + count, 0)
  const unreserved = numberOf('max_connections') - reserved
  const free = Math.min(unreserved, connection_limit ?? unreserved)
  const web = WEB_CONCURRENCY * (POOL_CONNECTIONS + 1) // and one for the listener
  const worker = workers * (POOL_CONNECTIONS + 2 * RUNNER_CONNECTIONS)
  const all = web + worker + POOL_CONNECTIONS
  const needs = `${WEB_CONCURRENCY} web, ${workers} worker and 1 smtp processes need up to ${all} connections`
  if (all <= free) return report.ok(`${needs}; there are ${free}, ${connections} in use.`)
  const raise = `ALTER SYSTEM SET max_connections = ${all + reserved + 10};   (then restart Postgres)`
  const fixes = [
    ...(all > unreserved ? [raise] : []),
    ...(free < unreserved ? ['Raise the CONNECTION LIMIT of the role or of the database.'] : []),
  ]
  return report.problem(`${needs}, and there are ${free}.`, fixes.join('\n'))
}

async function checkServerDisk({ local_directory, database_bytes }: Server): Promise<Finding[]> {
  const size = `The database has ${(database_bytes / (1 << 20)).toFixed(0)} MB`
  const disk = local_directory === null ? null : await checkDisk('Postgres', local_directory)
  if (disk && disk.level !== 'unknown') return [report.ok(`${size}.`), disk]
  return [report.unknown(`${size}; the free disk of its server is not known from here.`, 'On that server: df -h')]
}
