import type { RestartLimits } from '#lib/async/restarts.ts'
import { type Cluster, openCluster } from './cluster.ts'
import { Keeper } from './keeper.ts'
import { killServer, type Settings, stopServer } from './server.ts'
import { isLast, join, type Membership, urlOf } from './session.ts'
import type { User } from './user.ts'

/** A running server. `owned`: no other Mailbrook uses the server. */
export type EmbeddedPostgres = {
  url: string
  owned: boolean
  /** The user that it runs as, if our own user is root. */
  user?: User
  /** Rejects if the server has ended and cannot be started again. */
  failed: Promise<never>
  /** Stops the server, unless others still share it. */
  stop(): Promise<void>
  /** The same for a server that does not respond: does not wait until it has finished its work. */
  kill(): Promise<void>
}

/**
 * `share`: for short commands, which join a running Mailbrook. `settings`: settings of the server by name, if it is started
 * here. `restarts`: limits of restarts of a server that ends; `onRestart` is called for each.
 */
export type Options = {
  share?: boolean
  settings?: Settings
  restarts?: RestartLimits
  onRestart?: (pause_ms: number, reason: string) => void
}

/**
 * Starts PostgreSQL in `directory`, or takes over a server that a killed Mailbrook left running there. Unless it is shared, a
 * server that ends is started again, on the same port.
 *
 * @throws {StartupError} also if another Mailbrook runs there, unless `share` is set
 */
export async function startEmbeddedPostgres(directory: string, options: Options = {}): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(directory)
  const membership = await join(cluster, options)
  return options.share ? share(cluster, membership) : keepRunning(cluster, membership, options)
}

/** For a short command: the last process that leaves stops the server. */
function share(cluster: Cluster, { server, client, owned }: Membership): EmbeddedPostgres {
  const leave = async () => {
    if (await isLast(client)) await stopServer(server)
    await client.end().catch(() => {})
  }
  let left: Promise<void> | undefined
  const stop = () => (left ??= leave())
  const { user } = cluster.runner
  return { url: urlOf(cluster, server, 'mailbrook'), owned, user, failed: new Promise(() => {}), stop, kill: stop }
}

/** For the Mailbrook itself: keeps the server running until it stops. */
function keepRunning(cluster: Cluster, membership: Membership, options: Options): EmbeddedPostgres {
  const { owned, server } = membership
  const keeper = new Keeper(cluster, membership, options)
  let left: Promise<void> | undefined
  return {
    url: urlOf(cluster, server, 'mailbrook'),
    owned,
    user: cluster.runner.user,
    failed: keeper.failed,
    stop: () => (left ??= keeper.stop(stopServer)),
    kill: () => (left ??= keeper.stop(killServer)),
  }
}
