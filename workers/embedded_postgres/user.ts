import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { chmod, chown, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { StartupError } from '#lib/errors.ts'

/** Starts Postgres' programs as the user they run as; `user` is absent where that is simply our own user. */
export type Runner = { user?: User; run: Run }
type Run = (program: string, args: string[], more?: SpawnOptions) => ChildProcess
/** `shared_name`: of a system's user whom other programs run as, too. */
export type User = { uid: number; gid: number; shared_name: string | null }

/** Whom Postgres runs as where nothing tells whose its data is. */
const SHARED_USERS = ['nobody', 'postgres', 'daemon', 'www-data']

/**
 * Postgres refuses to run as root. Then it runs as the owner of its data or of its directory, or else as nobody, and must
 * still reach its own programs and data where root alone may enter: it keeps one capability for that, no more.
 */
export async function chooseRunner(directory: string, data: string, postgres: string): Promise<Runner> {
  if (process.getuid?.() !== 0) return { run: start }

  const user = await chooseUser(directory, data)
  await chown(directory, user.uid, user.gid).catch(unwritable(directory))
  const { uid, gid } = user
  const plain: Runner = { user, run: (program, args, more) => start(program, args, { ...more, uid, gid }) }
  if (await reaches(plain, directory, postgres)) return plain

  await openToAll(dirname(dirname(postgres)))
  for (const runner of [plain, keeping('dac_read_search', user), keeping('dac_override', user)]) {
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
 * no_setuid_fixup: without it access(2), by which Postgres looks for its own programs, leaves the capability out.
 * setpriv becomes the program by exec, so its process id is the server's.
 */
function keeping(capability: string, user: User): Runner {
  const keep = [`--inh-caps=+${capability}`, `--ambient-caps=+${capability}`, '--securebits=+no_setuid_fixup']
  const setpriv = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', ...keep, '--']
  return { user, run: (program, args, more) => start('setpriv', [...setpriv, program, ...args], more) }
}

/** Tried for real, since modes alone say too little: there are ACLs, mounts and containers short of capabilities. */
async function reaches({ run }: Runner, directory: string, postgres: string): Promise<boolean> {
  const shared = join(dirname(dirname(postgres)), 'share', 'postgresql', 'postgres.bki')
  const probe = 'cd "$1" && "$2" -V && : < "$3"'
  try {
    return (await finish(run('/bin/sh', ['-c', probe, 'sh', directory, postgres, shared]))).code === 0
  } catch {
    return false // spawn throws where we may not become another user
  }
}

/**
 * Installed under umask 077, Postgres' programs are root's alone, and the right to enter directories does not include
 * running files: only dac_override would, which is next to being root. What is opened is the public package, nothing else.
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
    // Not ours to change, as on a read-only file system: then it takes the stronger capability.
  }
}

export const unwritable = (path: string) => (error: NodeJS.ErrnoException) => {
  throw new StartupError(`Cannot write to ${path} (${error.code})`)
}

/** Gives a file of the data to whom the data belongs, who could not go on with it otherwise. */
export async function giveTo(user: User | undefined, path: string): Promise<void> {
  if (user) await chown(path, user.uid, user.gid)
}

/** Ours would bring PGDATA, LC_ALL and the like, and our working directory may be one that the user cannot enter. */
const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' }
const start: Run = (program, args, more) =>
  spawn(program, args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'], ...more, env: { ...env, ...more?.env } })

/** Waits for a short program; `code` is null when it did not start or died by a signal. */
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
