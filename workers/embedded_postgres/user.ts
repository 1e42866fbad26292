import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { chmod, chown, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { StartupError } from '#lib/errors.ts'

/** Starts the programs of Postgres as the right user. `user` is missing if that is our own user. */
export type Runner = { user?: User; run: Run }
type Run = (program: string, args: string[], more?: SpawnOptions) => ChildProcess
/** `shared_name`: the name, if it is a system user that other programs run as, too. */
export type User = { uid: number; gid: number; shared_name: string | null }

/** Users that Postgres may run as if the data has no other owner than root. */
const SHARED_USERS = ['nobody', 'postgres', 'daemon', 'www-data']

/**
 * Chooses the user for Postgres, which refuses to run as root. If we are root, it runs as the owner of its data or of the
 * directory, or as nobody. If only root may enter the directories of its programs and data, it keeps one capability for that.
 */
export async function chooseRunner(directory: string, data: string, postgres: string): Promise<Runner> {
  if (process.getuid?.() !== 0) return { run: start }

  const user = await chooseUser(directory, data)
  await chown(directory, user.uid, user.gid).catch(unwritable(directory))
  const { uid, gid } = user
  const plain: Runner = { user, run: (program, args, more) => start(program, args, { ...more, uid, gid }) }
  if (await reaches(plain, directory, postgres)) return plain

  await openToAll(dirname(dirname(postgres)))
  for (const runner of [plain, withCapability('dac_read_search', user), withCapability('dac_override', user)]) {
    if (await reaches(runner, directory, postgres)) return runner
  }
  throw new StartupError(
    `Postgres does not run as root, and user ${user.uid} cannot reach ${directory} and ${postgres}: ` +
      'set DATABASE_URL, or move the checkout to where every user may enter',
  )
}

async function chooseUser(directory: string, data: string): Promise<User> {
  const shared: User[] = []
  for (const shared_name of SHARED_USERS) {
    const [uid, gid] = await Promise.all([lookUp('-u', shared_name), lookUp('-g', shared_name)])
    if (uid && gid) shared.push({ uid, gid, shared_name })
  }
  for (const path of [data, directory]) {
    const { uid, gid } = await stat(path).catch(() => ({ uid: 0, gid: 0 }))
    if (uid !== 0) return { uid, gid, shared_name: shared.find(user => user.uid === uid)?.shared_name ?? null }
  }
  if (shared[0]) return shared[0]
  throw new StartupError('Postgres does not run as root, and there is no user nobody to run it as: set DATABASE_URL')
}

async function lookUp(option: string, name: string): Promise<number> {
  const { code, output } = await finish(start('id', [option, name]))
  return code === 0 ? Number(output) : 0
}

/**
 * Runs programs as another user that keeps a capability. Without no_setuid_fixup, access(2), with which Postgres looks for its
 * programs, would ignore the capability. setpriv replaces itself by the program, so that its process id is that of the server.
 */
function withCapability(capability: string, user: User): Runner {
  const keep = [`--inh-caps=+${capability}`, `--ambient-caps=+${capability}`, '--securebits=+no_setuid_fixup']
  const setpriv = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', ...keep, '--']
  return { user, run: (program, args, more) => start('setpriv', [...setpriv, program, ...args], more) }
}

/** Tries the access, since file modes are not enough: there are ACLs, mounts and containers without capabilities. */
async function reaches({ run }: Runner, directory: string, postgres: string): Promise<boolean> {
  const shared = join(dirname(dirname(postgres)), 'share', 'postgresql', 'postgres.bki')
  const probe = 'cd "$1" && "$2" -V && : < "$3"'
  try {
    return (await finish(run('/bin/sh', ['-c', probe, 'sh', directory, postgres, shared]))).code === 0
  } catch {
    return false // spawn throws if we may not become another user
  }
}

/**
 * Makes the programs of Postgres readable and executable for everybody. With umask 077 they were installed for root alone, and
 * dac_read_search does not allow running files; dac_override does, but is almost as powerful as root. Only the files of the
 * public package are changed.
 */
async function openToAll(installation: string): Promise<void> {
  try {
    for (const entry of await readdir(installation, { recursive: true, withFileTypes: true })) {
      if (entry.isSymbolicLink()) continue
      const path = join(entry.parentPath, entry.name)
      const mode = (await stat(path)).mode & 0o777
      await chmod(path, mode | (mode & 0o100 ? 0o055 : 0o044))
    }
    await chmod(installation, 0o755)
  } catch {
    // If the files cannot be changed, as on a read-only file system, the stronger capability is used.
  }
}

export const unwritable = (path: string) => (error: NodeJS.ErrnoException) => {
  throw new StartupError(`Cannot write to ${path} (${error.code})`)
}

/** Makes the owner of the data the owner of a file, so that Postgres can use it. */
export async function giveTo(user: User | undefined, path: string): Promise<void> {
  if (user) await chown(path, user.uid, user.gid)
}

/** Replaces our environment, which may have PGDATA, LC_ALL and the like. The working directory is `/`: every user can enter it. */
const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' }
const start: Run = (program, args, more) =>
  spawn(program, args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'], ...more, env: { ...env, ...more?.env } })

/** Waits for a short program. `code` is null if it did not start or a signal ended it. */
export async function finish(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let failure = ''
  child.once('error', error => {
    failure = error.message
  })
  const closed = new Promise<number | null>(resolve => child.once('close', resolve))
  const outputs = await Promise.all([child.stdout, child.stderr].map(stream => (stream ? text(stream) : '')))
  const code = await closed
  return { code: failure ? null : code, output: `${outputs.join('')}${failure}`.trim() }
}
