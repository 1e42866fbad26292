import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { chmod, mkdtemp, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { migrate } from '#sql/migrate.ts'
import { findFreePort } from '#test/support/free_port.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { type Cluster, openCluster } from '#workers/embedded_postgres/cluster.ts'

const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', timezone: 'UTC', max_connections: '200' }

/** A Postgres that syncs to disk and can be killed: it restarts on the same port. */
export class Postgres {
  readonly url: string
  readonly #directory: string
  readonly #cluster: Cluster
  readonly #settings: string[]
  #pid = 0
  #ended: Promise<void> = Promise.resolve()

  private constructor(directory: string, cluster: Cluster, port: number, more: Record<string, string>) {
    this.#directory = directory
    this.#cluster = cluster
    this.#settings = Object.entries({ ...settings, ...more, port }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ])
    this.url = `postgres://mailbrook:${cluster.password}@127.0.0.1:${port}/mailbrook`
  }

  /** Creates one with a migrated database, with its files under `parent`. */
  static async create(more: Record<string, string> = {}, parent: string = tmpdir()): Promise<Postgres> {
    const directory = await mkdtemp(join(parent, 'mailbrook-faults-'))
    await chmod(directory, 0o755) // as root, Postgres runs as another user, who must be able to enter
    const postgres = new Postgres(directory, await openCluster(directory), await findFreePort(), more)
    process.once('exit', postgres.#remove)
    await postgres.start()
    await ask(postgres.#maintenance, 'CREATE DATABASE mailbrook')
    await migrate(postgres.url)
    return postgres
  }

  /** Resolves when it accepts queries, after its recovery. */
  async start(): Promise<void> {
    const log = await open(this.#cluster.log, 'a')
    const child = this.#cluster.runner.run(this.#cluster.postgres, ['-D', this.#cluster.data, ...this.#settings], {
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    })
    await log.close()
    this.#pid = child.pid as number
    this.#ended = new Promise(resolve =>
      child.once('exit', () => {
        this.#pid = 0
        resolve()
      }),
    )
    const isUp = async () => {
      if (await ask(this.#maintenance, 'SELECT 1').catch(() => false)) return true
      if (child.exitCode !== null) throw new Error(`Postgres: ${this.#tail()}`)
      return false
    }
    await waitUntil(isUp, () => `Postgres responds: ${this.#tail()}`)
  }

  /** SIGQUIT is the immediate stop: no checkpoint, clients are disconnected. SIGTERM waits for them. */
  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    process.kill(this.#pid, signal)
    await this.#ended
  }

  /** Resolves when it has ended for any reason. */
  get ended(): Promise<void> {
    return this.#ended
  }

  get isRunning(): boolean {
    return this.#pid !== 0
  }

  /** Kills all of its processes at once, like a power failure. */
  async kill(): Promise<void> {
    const pids = [this.#pid, ...childrenOf(this.#pid)]
    for (const pid of pids) tryToKill(pid)
    await this.#ended
    await waitUntil(() => !pids.some(isRunning), 'every process of Postgres has ended')
  }

  async close(): Promise<void> {
    if (this.#pid) await this.stop()
    process.removeListener('exit', this.#remove)
    this.#remove()
  }

  readonly #remove = () => {
    for (const pid of this.#pid ? [this.#pid, ...childrenOf(this.#pid)] : []) tryToKill(pid)
    rmSync(this.#directory, { recursive: true, force: true })
  }

  get #maintenance(): string {
    return this.url.replace(/mailbrook$/, 'postgres')
  }

  #tail(): string {
    return readFileSync(this.#cluster.log, 'utf8').slice(-1_000)
  }
}

async function ask(url: string, statement: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  await client.connect()
  await client.query(statement).finally(() => client.end())
  return true
}

function childrenOf(parent: number): number[] {
  const pids = readdirSync('/proc').map(Number).filter(Boolean)
  return pids.filter(pid => parentOf(pid) === parent)
}

function parentOf(pid: number): number {
  return Number(/^\d+ \(.*\) \S (\d+)/s.exec(read(`/proc/${pid}/stat`))?.[1])
}

function isRunning(pid: number): boolean {
  return /^\d+ \(.*\) [^ZX]/s.test(read(`/proc/${pid}/stat`))
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function tryToKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended.
  }
}
