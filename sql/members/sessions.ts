import { z } from 'zod'
import { ROLES } from '#lib/members/roles.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/** The signed-in member, with the role in the current account of the session. */
export const Session = z.object({
  session_id: z.string(),
  member_id: z.string(),
  email: z.string(),
  name: z.string(),
  is_operator: z.boolean(),
  account_id: z.string(),
  account_name: z.string(),
  role: z.enum(ROLES),
})
export type Session = z.infer<typeof Session>

/** Days without a visit after which a session expires, and days after which it expires in any case. */
const IDLE_DAYS = 14
const MAX_DAYS = 90

const isAlive = sql.fragment`
  s.last_seen_at > now() - make_interval(days => ${IDLE_DAYS}) AND s.created_at > now() - make_interval(days => ${MAX_DAYS})
`

/**
 * Looks up a session, and records its use at most once per minute. If the member was removed from the account of the
 * session, another account of the member is used, if there is one.
 */
export async function findSession(db: Queryable, hash: Buffer): Promise<Session | null> {
  return db.maybeOne(sql.type(Session)`
    WITH found AS (
      SELECT s.id AS session_id, m.id AS member_id, m.email, m.name, m.is_operator, a.id AS account_id,
        a.name AS account_name, p.role, s.last_seen_at
      FROM sessions s
      JOIN members m ON m.id = s.member_id
      JOIN LATERAL (
        SELECT * FROM memberships p WHERE p.member_id = m.id
        ORDER BY p.account_id = s.account_id DESC, p.created_at, p.account_id LIMIT 1
      ) p ON true
      JOIN accounts a ON a.id = p.account_id
      WHERE s.hash = ${sql.binary(hash)} AND ${isAlive}
    ), seen AS (
      UPDATE sessions SET last_seen_at = now() FROM found
      WHERE sessions.id = found.session_id AND found.last_seen_at < now() - interval '1 minute'
      RETURNING sessions.member_id
    ), seen_member AS (
      UPDATE members SET last_seen_at = now() FROM seen WHERE members.id = seen.member_id
    )
    SELECT session_id, member_id, email, name, is_operator, account_id, account_name, role FROM found
  `)
}

export type NewSession = {
  hash: Buffer
  id: string
  member_id: string
  /** The hash of the password that was checked; null if none was. */
  password: string | null
  account_id: string
  client_address: string | null
  user_agent: string
}

/**
 * Starts a session; also deletes expired sessions of the member. Returns false if the password has changed: the change ended all
 * sessions, and must not miss this one.
 */
export async function insertSession(db: Queryable, session: NewSession): Promise<boolean> {
  const { hash, id, member_id, password, account_id, client_address, user_agent } = session
  const count = await db.run(sql.unsafe`
    WITH seen AS (
      UPDATE members SET last_seen_at = now() WHERE id = ${member_id} AND (${password}::text IS NULL OR password = ${password})
      RETURNING id
    ), over AS (
      DELETE FROM sessions s WHERE s.member_id = ${member_id} AND NOT (${isAlive})
    )
    INSERT INTO sessions (hash, id, member_id, account_id, client_address, user_agent)
    SELECT ${sql.binary(hash)}, ${id}::uuid, seen.id, ${account_id}::uuid, ${client_address}, ${user_agent} FROM seen
  `)
  return count > 0
}

/** Returns false if the member does not belong to the account. */
export async function setSessionAccount(db: Queryable, session_id: string, account_id: string): Promise<boolean> {
  const count = await db.run(sql.unsafe`
    UPDATE sessions s SET account_id = p.account_id FROM memberships p
    WHERE s.id = ${session_id} AND p.member_id = s.member_id AND p.account_id = ${account_id}
  `)
  return count > 0
}

export const OpenSession = z.object({
  id: z.string(),
  client_address: z.string().nullable(),
  user_agent: z.string(),
  created_at: z.date(),
  last_seen_at: z.date(),
})
export type OpenSession = z.infer<typeof OpenSession>

/** Lists the sessions of a member, newest first. */
export async function listSessions(db: Queryable, member_id: string): Promise<OpenSession[]> {
  return db.any(sql.type(OpenSession)`
    SELECT s.id, s.client_address, s.user_agent, s.created_at, s.last_seen_at FROM sessions s
    WHERE s.member_id = ${member_id} AND ${isAlive} ORDER BY s.id DESC LIMIT 100
  `)
}

export async function hasSession(db: Queryable, id: string): Promise<boolean> {
  return db.exists(sql.fragment`SELECT FROM sessions WHERE id = ${id}`)
}

/** Ends one session of a member. */
export async function deleteSession(db: Queryable, member_id: string, id: string): Promise<void> {
  await db.run(sql.unsafe`DELETE FROM sessions WHERE member_id = ${member_id} AND id = ${id}`)
}

/** Ends all sessions of a member except one. */
export async function deleteSessions(db: Queryable, member_id: string, except: string | null): Promise<void> {
  await db.run(sql.unsafe`
    DELETE FROM sessions WHERE member_id = ${member_id} AND id IS DISTINCT FROM ${except}::uuid
  `)
}
