import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartupError } from '#lib/errors.ts'
import { type Cluster, isAlive, lastError } from './cluster.ts'
import { giveTo, unwritable } from './user.ts'

/** A running server. `gone` tells whether it has ended. */
export type Server = { pid: number; port: number; gone(): Promise<boolean> }

/** Server settings by name. One process on one machine needs neither a socket file nor more than 100 connections. */
export type Settings = Record<string, string>
const defaults: Settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
}

/** `port`: the port to listen on; default: any free port. `signal` ends a start that is under way. */
export type Launch = { settings?: Settings; port?: number; signal?: AbortSignal }

const START_LIMIT = 300_000 // ms; recovery after a crash under load takes long
const FAST_LIMIT = 20_000 // ms; the server writes a checkpoint
const HUNG_LIMIT = 500 // ms
const LOG_LIMIT = 10_000_000 // bytes

/** Tells whether a server runs on the cluster in a directory, which need not exist. */
export async function isServerRunning(directory: string): Promise<boolean> {
  const file = await readPidFile({ data: join(directory, 'postgres') })
  return file?.ready === true && isAlive(file.pid)
}

/** Returns the server that already runs on a cluster, for example because its Mailbrook was killed. It may not respond. */
export async function findServer(cluster: Cluster): Promise<Server | null> {
  const file = await readPidFile(cluster)
  if (!file?.ready || !isAlive(file.pid)) return null
  // Checks the file as well: in a container, a dead process may stay listed because nobody reaps it.
  const gone = async () => !isAlive(file.pid) || (await readPidFile(cluster))?.pid !== file.pid
  return { ...file, gone }
}

/** Starts a server. Returns null if another process took the port or the cluster meanwhile: the caller tries again. */
export async function launchServer(cluster: Cluster, launch: Launch = {}): Promise<Server | null> {
  const port = launch.port ?? (await findFreePort())
  const log = await openLog(cluster.log)
  await giveTo(cluster.runner.user, cluster.log)
  const start = (await log.stat()).size
  const all = Object.entries({ ...defaults, ...launch.settings, port }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  const child = cluster.runner.run(cluster.postgres, ['-D', cluster.data, ...all], {
    detached: true, // a process group of its own: Ctrl-C in the terminal reaches only us, and we stop Postgres last
    stdio: ['ignore', log.fd, log.fd],
    env: await findForeignPid(cluster),
  })
  await log.close()
  child.once('error', () => {}).unref()
  if (!child.pid) throw new StartupError(`Cannot run ${cluster.postgres}`)

  const server = { pid: child.pid, port, gone: async () => child.exitCode !== null || child.signalCode !== null }
  if (await becomesReady(cluster, server, launch.signal)) return server
  launch.signal?.throwIfAborted()

  const output = (await readFile(cluster.log)).toString('utf8', start)
  if (/could not bind|lock file .* already exists|still in use/.test(output)) return null
  throw new StartupError(`Postgres does not start: ${lastError(output)} (${cluster.log})`)
}

/** Stops a server. Disconnects its clients and rolls back their transactions; committed data is on disk in any case. */
export function stopServer(server: Server): Promise<void> {
  return endServer(server, ['SIGINT', 'SIGQUIT', 'SIGKILL'], FAST_LIMIT)
}

/** Kills a server that does not respond, and so would not react to a request to stop. */
export function killServer(server: Server): Promise<void> {
  return endServer(server, ['SIGQUIT', 'SIGKILL'], HUNG_LIMIT)
}

async function endServer({ pid, gone }: Server, signals: NodeJS.Signals[], limit_ms: number): Promise<void> {
  for (const name of signals) {
    signal(pid, name)
    const limit = performance.now() + limit_ms
    while (performance.now() < limit) {
      if (await gone()) return
      await sleep(10)
    }
  }
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has already ended.
  }
}

async function becomesReady(cluster: Cluster, server: Server, aborted?: AbortSignal): Promise<boolean> {
  const limit = performance.now() + START_LIMIT
  while (!(await server.gone())) {
    const file = await readPidFile(cluster)
    if (file?.pid === server.pid && file.ready) return true
    if (aborted?.aborted) await killServer(server)
    if (performance.now() > limit) await stopServer(server)
    await sleep(10)
  }
  return false
}

/** Reads postmaster.pid. Its lines: pid, data directory, start time, port, socket directory, address, shared memory, state. */
async function readPidFile({
  data,
}: Pick<Cluster, 'data'>): Promise<{ pid: number; port: number; ready: boolean } | null> {
  const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  const pid = Number(lines[0])
  return pid > 0 ? { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' } : null
}

/**
 * After a crash, the process id in postmaster.pid may be that of another program, most likely in a container, and Postgres
 * would refuse to start. PG_GRANDPARENT_PID makes it ignore that id; it still checks the shared memory.
 */
async function findForeignPid(cluster: Cluster): Promise<{ PG_GRANDPARENT_PID?: string }> {
  const file = await readPidFile(cluster)
  const command = file && (await readFile(`/proc/${file.pid}/cmdline`, 'utf8').catch(() => null))
  return file && typeof command === 'string' && !command.includes('postgres')
    ? { PG_GRANDPARENT_PID: String(file.pid) }
    : {}
}

async function openLog(path: string) {
  const file = await open(path, 'a', 0o600).catch(unwritable(path))
  if ((await file.stat()).size > LOG_LIMIT) await file.truncate()
  return file
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
