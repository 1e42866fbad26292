import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** The server of a database, as far as any role may see it. */
const Server = z.object({
  version: z.string(),
  version_number: z.int(),
  database: z.string(),
  role: z.string(),
  database_bytes: z.number(),
  /** Its data directory if it runs on this machine; null if it is not known. */
  local_directory: z.string().nullable(),
  is_standby: z.boolean(),
  is_read_only: z.boolean(),
  connections: z.int(),
  /** That of the role or of the database, whichever is lower; null if there is none. */
  connection_limit: z.int().nullable(),
})
export type Server = z.infer<typeof Server>

export async function findServer(db: Queryable): Promise<Server> {
  return db.one(sql.type(Server)`
    SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS version_number,
      current_database()::text AS database, current_user::text AS role,
      pg_database_size(current_database()) AS database_bytes,
      CASE WHEN inet_server_addr() IS NULL OR inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1' THEN
        (SELECT nullif(setting, '') FROM pg_settings WHERE name = 'data_directory')
      END AS local_directory,
      pg_is_in_recovery() AS is_standby, current_setting('transaction_read_only')::boolean AS is_read_only,
      (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
      (SELECT least(nullif(datconnlimit, -1), nullif(rolconnlimit, -1)) FROM pg_database, pg_roles
       WHERE datname = current_database() AND rolname = current_user AND NOT rolsuper) AS connection_limit
  `)
}

const ServerSetting = z.object({ name: z.string(), setting: z.string(), source: z.string() })
export type ServerSetting = z.infer<typeof ServerSetting>

/**
 * Lists settings as they apply to our sessions, with their sources. Settings that this version does not have are left
 * out.
 */
export async function listServerSettings(db: Queryable, names: string[]): Promise<ServerSetting[]> {
  return db.any(sql.type(ServerSetting)`
    SELECT name, setting, source FROM pg_settings WHERE name = ANY(${sql.array(names, 'text')})
  `)
}

/** Writes nothing, but fails where nothing can be written, so that the pool replaces a connection to a former primary. */
export async function refuseReadOnly(db: Queryable): Promise<void> {
  await db.run(sql.unsafe`SELECT FROM migrations WHERE false FOR UPDATE`)
}
