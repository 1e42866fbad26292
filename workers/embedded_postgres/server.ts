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

/** Server settings by name. One process on one machine needs neither a socket file nor more connections. */
export type Settings = Record<string, string>
const defaults: Settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
}

/** `port`: the one to listen on, else any that is free. `signal` ends a start that is under way. */
export type Launch = { settings?: Settings; port?: number; signal?: AbortSignal }

const START_LIMIT = 300_000 // ms; recovery after a crash under load takes its time
const FAST_LIMIT = 20_000 // ms; a checkpoint is written
const HUNG_LIMIT = 500 // ms
const LOG_LIMIT = 10_000_000 // bytes

/** Whether one runs on the cluster in this directory, which need not exist. */
export async function isServerRunning(directory: string): Promise<boolean> {
  const file = await readPidFile({ data: join(directory, 'postgres') })
  return file?.ready === true && isAlive(file.pid)
}

/** The server that already runs on this cluster, such as one whose Mailbrook was killed; it may turn out not to answer. */
export async function findServer(cluster: Cluster): Promise<Server | null> {
  const file = await readPidFile(cluster)
  if (!file?.ready || !isAlive(file.pid)) return null
  // The file counts as well: a dead process that nobody reaps, as in a container, stays listed.
  const gone = async () => !isAlive(file.pid) || (await readPidFile(cluster))?.pid !== file.pid
  return { ...file, gone }
}

/** Null when the port or the cluster has been taken meanwhile: worth another try. */
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

/** Clients are cut off and their transactions rolled back; what was committed is on disk in either case. */
export function stopServer(server: Server): Promise<void> {
  return endServer(server, ['SIGINT', 'SIGQUIT', 'SIGKILL'], FAST_LIMIT)
}

/** Ends one that does not answer, and so would not heed a request to stop either. */
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
    // It has ended by itself.
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

/** postmaster.pid, a line each: pid, data directory, start time, port, socket directory, address, shared memory, state. */
async function readPidFile({
  data,
}: Pick<Cluster, 'data'>): Promise<{ pid: number; port: number; ready: boolean } | null> {
  const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  const pid = Number(lines[0])
  return pid > 0 ? { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' } : null
}

/**
 * After a crash the process id in postmaster.pid may be someone else's, likely so in a container, and Postgres would refuse
 * to start. It overlooks the one that pg_ctl names as its own parent; its check of the shared memory remains.
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
