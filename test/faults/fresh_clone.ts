import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '#test/support/root.ts'
import { waitUntil } from '#test/support/wait_until.ts'

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0

/** The user, and the directory of the clone. */
export type Person = { name: string; uid?: number; gid?: number }
export type Place = Person & { directory: string }

export const root: Person | null = isRoot ? { name: 'root' } : null
export const ordinaryUser: Person = { name: 'an ordinary user', ...(isRoot ? { uid: 65534, gid: 65534 } : {}) }

/** The environment of a new user: without our Node and variables of npm. */
const plain = (process.env.PATH ?? '').split(':').filter(entry => !entry.includes('node_modules'))
const PATH = plain.join(':')

/** Copies what a clone would have, and uncommitted changes, to a directory with a space in its name that only its owner may enter. */
export async function makeClone(person: Person): Promise<Place> {
  const directory = join(await mkdtemp(join(tmpdir(), 'mailbrook-test-')), 'mail brook')
  const list = ['-c', 'safe.directory=*', 'ls-files', '--cached', '--others', '--exclude-standard', '-z']
  const { stdout } = await run('git', list, { cwd: ROOT, maxBuffer: 1 << 26 })
  for (const file of stdout.split('\0').filter(Boolean)) {
    await mkdir(dirname(join(directory, file)), { recursive: true })
    await copyFile(join(ROOT, file), join(directory, file)).catch(error => {
      if (error.code !== 'ENOENT') throw error // deleted but not committed yet
    })
  }
  const { uid, gid } = person
  if (uid !== undefined) await run('chown', ['-R', `${uid}:${gid}`, dirname(directory)])
  return { ...person, directory }
}

/** Ends the Postgres that may still run in the directory. */
export async function removeClone({ directory }: Place): Promise<void> {
  const pid = await findPostgres(directory).catch(() => null)
  if (pid) kill(pid, 'SIGKILL')
  await rm(dirname(directory), { recursive: true, force: true, maxRetries: 10 })
}

/** Returns the process id of the embedded Postgres that runs in the directory; throws if there is none. */
export async function findPostgres(directory: string): Promise<number> {
  const text = await readFile(join(directory, '.data', 'postgres', 'postmaster.pid'), 'utf8')
  return Number.parseInt(text, 10)
}

/** A command as if typed in a terminal: a process group, its output, and its exit code once it has ended. */
export class Command {
  stdout = ''
  stderr = ''
  readonly #ended: Promise<number | null>
  #isRunning = true
  readonly #process: ChildProcess

  constructor(words: string[], { directory, uid, gid }: Place, environment: Record<string, string> = {}) {
    const [program = '', ...args] = words
    const HOME = dirname(directory)
    const NODE_COMPILE_CACHE = join(HOME, 'cache') // compiling the program takes most of a start
    const SMTP_PORT = '0' // another server may receive mail on this machine
    const env = { PATH, HOME, NODE_COMPILE_CACHE, SMTP_PORT, ...environment }
    const user = uid === undefined ? {} : { uid, gid }
    const child = spawn(program, args, { cwd: directory, env, detached: true, ...user })
    child.stdout.setEncoding('utf8').on('data', text => (this.stdout += text))
    child.stderr.setEncoding('utf8').on('data', text => (this.stderr += text))
    const killGroup = () => this.signal('SIGKILL')
    process.once('exit', killGroup)
    this.#process = child
    this.#ended = once(child, 'close').then(([code]) => {
      this.#isRunning = false
      process.removeListener('exit', killGroup)
      return code
    })
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  /** Sends a signal to the whole group, like Ctrl-C in a terminal. */
  signal(name: NodeJS.Signals): void {
    if (this.#isRunning && this.pid > 0) kill(-this.pid, name)
  }

  /** Returns what matches in the output, once it is printed. */
  async prints(pattern: RegExp, ms?: number): Promise<string> {
    const what = () => `${pattern} is printed:\n${this.stdout}${this.stderr}`
    const find = () => {
      const found = pattern.exec(this.stdout)
      if (!found && !this.#isRunning) throw new Error(`it has ended before ${what()}`)
      return found
    }
    const [found] = await waitUntil(find, what, ms)
    return found
  }

  /** Returns its exit code once it ends, by itself or by the signal; null if it had to be killed. */
  async end(name?: NodeJS.Signals, ms = 30_000): Promise<number | null> {
    if (name) this.signal(name)
    const limit = setTimeout(() => this.signal('SIGKILL'), ms)
    return this.#ended.finally(() => clearTimeout(limit))
  }
}

function kill(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has ended.
  }
}

export type Sent = { url: string; key: string; id: string }

/** Runs the printed curl command with `change` applied, or sends the same request with fetch if there is no curl. */
export async function runPrintedCurl(mailbrook: Command, place: Place, change = (text: string) => text): Promise<Sent> {
  const text = change(await mailbrook.prints(/^curl (?:.*\\\n)*.*\n/m))
  const [, url = ''] = /^curl (\S+)/.exec(text) ?? []
  const [, key = ''] = /Bearer (\w+)/.exec(text) ?? []
  const curl = new Command(['sh', '-c', text], place)
  const isMissing = (await curl.end()) === 127
  const answer = isMissing ? await fetch(url, readCurl(text)).then(response => response.text()) : curl.stdout
  return { url, key, id: JSON.parse(answer).id }
}

function readCurl(text: string): RequestInit {
  const headers = Array.from(text.matchAll(/-H '(.+?): (.*?)'/g), ([, name = '', value = '']) => [name, value] as const)
  return { method: 'POST', headers: Object.fromEntries(headers), body: /-d '(.*)'/.exec(text)?.[1] ?? '' }
}

type Email = { status: string; events: { type: string }[] }

/** Returns the email from the API once it is settled. */
export async function readSettled(url: string, key: string, id: string): Promise<Email> {
  let text = ''
  const read = async () => {
    const answer = await fetch(`${url}/${id}`, { headers: { authorization: `Bearer ${key}` } })
    text = await answer.text()
    const email: Email = JSON.parse(text)
    return answer.ok && email.status !== 'queued' && email
  }
  return waitUntil(read, () => `the email is settled; the last answer is ${text}`)
}
