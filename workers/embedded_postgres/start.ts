import type { RestartLimits } from '#lib/async/restarts.ts'
import { type Cluster, openCluster } from './cluster.ts'
import { Keeper } from './keeper.ts'
import { killServer, type Settings, stopServer } from './server.ts'
import { isLast, join, type Membership, urlOf } from './session.ts'
import type { User } from './user.ts'

/** `owned`: no other Mailbrook runs on it. */
export type EmbeddedPostgres = {
  url: string
  owned: boolean
  /** Whom it runs as, where that is not our own user, who is root. */
  user?: User
  /** Rejects when the server has ended and cannot be started again. */
  failed: Promise<never>
  /** Ends the server, or leaves it to whoever still shares it. */
  stop(): Promise<void>
  /** The same when it does not answer: without waiting for what it has to finish. */
  kill(): Promise<void>
}

/**
 * `share`: for short commands, which join a running Mailbrook. `settings`: of the server, by name, should we start it.
 * `restarts`: of a server that ends; of each `onRestart` is told.
 */
export type Options = {
  share?: boolean
  settings?: Settings
  restarts?: RestartLimits
  onRestart?: (pause_ms: number, reason: string) => void
}

/**
 * Starts PostgreSQL in `directory`, or takes over the one that a killed Mailbrook left running there. Unless it is shared,
 * one that ends is started again, on the same port.
 * Throws StartupError, also when another Mailbrook runs there, unless asked to share it.
 */
export async function startEmbeddedPostgres(directory: string, options: Options = {}): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(directory)
  const membership = await join(cluster, options)
  return options.share ? share(cluster, membership) : keep(cluster, membership, options)
}

/** For a short command: whoever leaves last ends it. */
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

/** For the Mailbrook that runs on it. */
function keep(cluster: Cluster, membership: Membership, options: Options): EmbeddedPostgres {
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
