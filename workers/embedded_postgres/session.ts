import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { StartupError } from '#lib/errors.ts'
import { type Cluster, isAlive } from './cluster.ts'
import { findServer, launchServer, type Server, type Settings, stopServer } from './server.ts'

const PATIENCE = 30_000 // ms, while another start or stop is in progress

// Session locks, since they end with the process that holds them, however it ends. Each has two keys: LOCKS, and one of these.
const LOCKS = 0x6d61696c
const MAIN = 1 // held exclusively by the one Mailbrook that runs on this database
const USER = 2 // shared by all processes that use the server; exclusive for the one that stops it

/** `port`: the earlier port of the server, which is all that its users know. */
type Joining = { share?: boolean; settings?: Settings; port?: number; signal?: AbortSignal }
type Session = { server: Server; client: pg.Client }
export type Membership = Session & { owned: boolean }

/** Connects to the server of a cluster. Starts it if it does not run. @throws {StartupError} */
export async function join(cluster: Cluster, joining: Joining): Promise<Membership> {
  const limit = performance.now() + PATIENCE
  while (performance.now() < limit) {
    joining.signal?.throwIfAborted()
    const joined = await tryToJoin(cluster, joining)
    if (joined) return joined
    await sleep(50, undefined, { signal: joining.signal })
  }
  throw new StartupError(`The database in ${cluster.directory} is in use by another process (see ${cluster.log})`)
}

/** Returns null if the server has ended meanwhile, or is about to. */
async function tryToJoin(cluster: Cluster, joining: Joining): Promise<Membership | null> {
  const running = await findServer(cluster)
  // A short command started this server when ours had just ended. It stops with that command.
  if (running && joining.port && running.port !== joining.port) return null
  const session = (await connect(cluster, running)) ?? (await launch(cluster, joining))
  if (!session) return null
  try {
    const owned = await takeLocks(session.client, cluster, joining.share ?? false)
    await createDatabase(session.client)
    return { ...session, owned }
  } catch (error) {
    await session.client.end().catch(() => {})
    if (isTemporary(error)) return null
    throw error instanceof pg.DatabaseError ? new StartupError(`${cluster.data}: ${error.message}`) : error
  }
}

async function launch(cluster: Cluster, joining: Joining): Promise<Session | null> {
  const server = await launchServer(cluster, joining)
  try {
    return await connect(cluster, server)
  } catch (error) {
    if (server) await stopServer(server)
    throw error
  }
}

/** Connects to the database `postgres`, which always exists. SCRAM checks the password on both sides, so the server is ours. */
async function connect(cluster: Cluster, server: Server | null): Promise<Session | null> {
  if (!server) return null
  const client = new pg.Client({
    connectionString: urlOf(cluster, server, 'postgres'),
    application_name: `mailbrook ${process.pid}`,
    connectionTimeoutMillis: 5_000,
  })
  client.on('error', () => {}) // the server ended: its users notice on their own connections
  try {
    await client.connect()
    return { server, client }
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== '28P01') return null
    throw new StartupError(`${cluster.directory}/postgres_password is not the password of ${cluster.data}`)
  }
}

/** Takes the locks. Returns true if no other Mailbrook runs. */
async function takeLocks(client: pg.Client, { directory }: Cluster, share: boolean): Promise<boolean> {
  if (!(await ask(client, 'pg_try_advisory_lock_shared', USER))) throw new TemporaryError()
  if (!share && (await ask(client, 'pg_try_advisory_lock', MAIN))) return true

  const { rows } = await client.query(
    `SELECT substring(application_name FROM '[0-9]+')::int AS pid FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND classid = $1 AND objid = $2 AND granted`,
    [LOCKS, MAIN],
  )
  if (share) return rows.length === 0
  if (rows.length === 0 || !isAlive(rows[0].pid)) throw new TemporaryError() // it was killed, and Postgres will notice soon
  throw new StartupError(`Mailbrook is already running in ${directory}, process ${rows[0].pid}`)
}

async function ask(client: pg.Client, lockFunction: string, key: number): Promise<boolean> {
  const { rows } = await client.query(`SELECT ${lockFunction}($1::int, $2::int) AS done`, [LOCKS, key])
  return rows[0].done
}

async function createDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = 'mailbrook'")
  if (rowCount === 0) await client.query('CREATE DATABASE mailbrook')
}

class TemporaryError extends Error {}

/** True if another start or stop at the same moment caused the error, so that the next try may succeed. */
function isTemporary(error: unknown): boolean {
  // 57P: shutting down; the others: two processes created the database.
  if (error instanceof pg.DatabaseError) return /^57P|^42P04|^23505/.test(error.code ?? '')
  return !(error instanceof StartupError)
}

/** Gives up the shared lock before it requests the exclusive one, so that exactly one of several leaving processes gets it. */
export async function isLast(client: pg.Client): Promise<boolean> {
  try {
    await ask(client, 'pg_advisory_unlock_shared', USER)
    return await ask(client, 'pg_try_advisory_lock', USER)
  } catch {
    return false // the server has ended
  }
}

export const urlOf = ({ password }: Cluster, { port }: Server, database: string) =>
  `postgres://mailbrook:${password}@127.0.0.1:${port}/${database}`
