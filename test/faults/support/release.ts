import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '#test/support/free_port.ts'
import { SECRET_KEY } from '#test/support/world.ts'
import { Child, Supervised } from './child.ts'

type Environment = Record<string, string>

/** Processes of one copy of the project on one database. Each gets the given environment and the variables that all need. */
export class Release {
  readonly database_url: string
  readonly #directory: string
  readonly #running = new Set<{ stop(): Promise<unknown> }>()

  constructor(directory: string, database_url: string) {
    this.#directory = directory
    this.database_url = database_url
  }

  start(file: string, more: Environment = {}, args: string[] = []): Child {
    return this.#keep(this.#create(file, more, args))
  }

  supervise(file: string, more: Environment = {}): Supervised {
    return this.#keep(new Supervised(() => this.#create(file, more)))
  }

  /** Starts the web process on a free port, or on the given one; resolves once it listens. */
  async startWeb(more: Environment = {}): Promise<{ url: string; child: Child }> {
    const port = more.PORT ?? String(await findFreePort())
    const child = this.start(this.webFile, { ...more, PORT: port })
    await child.says(/the API listens/)
    return { url: `http://127.0.0.1:${port}`, child }
  }

  /** Starts a worker with short times; resolves once it is ready. */
  async startWorker(more: Environment = {}): Promise<Child> {
    const child = this.start(this.workerFile, more)
    await child.says(/^ready$/)
    return child
  }

  /** The path differs between releases. */
  get webFile(): string {
    return existsSync(join(this.#directory, 'workers/web.ts')) ? 'workers/web.ts' : 'api/server.ts'
  }

  /** The worker with short times, whose path differs between releases. */
  get workerFile(): string {
    const [file] = globSync('test/faults/**/worker.ts', { cwd: this.#directory })
    if (!file) throw new Error(`${this.#directory} has no test/faults/**/worker.ts`)
    return file
  }

  /** Runs a file until it ends; returns the lines it printed. */
  async run(file: string, args: string[] = []): Promise<string[]> {
    const child = this.start(file, {}, args)
    const { code } = await child.ended
    if (code !== 0) throw new Error(`${[file, ...args].join(' ')} ended with ${code}:\n${child.lines.join('\n')}`)
    return child.lines
  }

  async migrate(): Promise<void> {
    await this.run('sql/migrate.ts')
  }

  /** The operator's command. */
  async admin(...words: string[]): Promise<string[]> {
    return this.run('workers/admin.ts', words)
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running].map(process => process.stop()))
  }

  #create(file: string, more: Environment, args: string[] = []): Child {
    const { PATH = '' } = process.env
    const needed = {
      PATH,
      DATABASE_URL: this.database_url,
      SECRET_KEY,
      HELO_NAME: 'mailbrook.test',
      SENDS_PER_MINUTE: '0',
    }
    return new Child(`${this.#directory}/${file}`, { ...needed, ...more }, args)
  }

  #keep<T extends { stop(): Promise<unknown> }>(process: T): T {
    this.#running.add(process)
    return process
  }
}
