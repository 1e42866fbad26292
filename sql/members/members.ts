import { z } from 'zod'
import { Role } from '#lib/members/new_member.ts'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** A member as an account sees it. */
export const Member = z
  .object({
    object: z.literal('member'),
    id: z.string(),
    email: z.string().describe('Address of the member.'),
    name: z.string().describe('Name of the member.'),
    role: Role,
    passkeys: z.int().describe('Number of passkeys that the member may sign in with.'),
    created_at: z.date(),
    last_seen_at: z.date().nullable().describe('When the member last used the dashboard, to the minute; null: never.'),
  })
  .meta({ id: 'Member' })
export type Member = z.infer<typeof Member>

const columns = sql.fragment`
  'member' AS object, m.id, m.email, m.name, s.role, s.created_at, m.last_seen_at,
  (SELECT count(*)::int FROM passkeys p WHERE p.member_id = m.id) AS passkeys
`

export async function listMembers(db: Queryable, account_id: string, position: Position): Promise<Page<Member>> {
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(Member)`
      SELECT * FROM (
        SELECT ${columns} FROM memberships s JOIN members m ON m.id = s.member_id WHERE s.account_id = ${account_id}
      ) members
      WHERE ${where} ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

const Login = z.object({ id: z.string(), email: z.string(), name: z.string(), password: z.string().nullable() })
export type Login = z.infer<typeof Login>

/** Finds a member with the password, by the address for signing in. */
export async function findLogin(db: Queryable, email: string): Promise<Login | null> {
  return db.maybeOne(sql.type(Login)`SELECT id, email, name, password FROM members WHERE email = ${email}`)
}

export type NewMemberRow = { id: string; email: string; name: string; password: string | null; is_operator: boolean }

export async function insertMember(tx: Tx, member: NewMemberRow): Promise<void> {
  const { id, email, name, password, is_operator } = member
  await tx.run(sql.unsafe`
    INSERT INTO members (id, email, name, password, is_operator)
    VALUES (${id}, ${email}, ${name}, ${password}, ${is_operator})
  `)
}

/** Returns true if the member with this address belongs to the account. */
export async function isMemberOf(db: Queryable, account_id: string, email: string): Promise<boolean> {
  return db.exists(sql.fragment`
    SELECT FROM members m JOIN memberships s ON s.member_id = m.id WHERE m.email = ${email} AND s.account_id = ${account_id}
  `)
}

/**
 * Deletes the member with this address if the member belongs to no account any more and is no operator. Such a member cannot
 * sign in, so nobody could accept an invitation to the address.
 */
export async function deleteLeftMember(tx: Tx, email: string): Promise<void> {
  await tx.run(sql.unsafe`
    DELETE FROM members m WHERE m.email = ${email} AND NOT m.is_operator
      AND NOT EXISTS (SELECT FROM memberships s WHERE s.member_id = m.id)
  `)
}

/** Sets the hash of a password, and deletes links by which the member could choose another one. */
export async function setPassword(db: Queryable, id: string, password: string): Promise<void> {
  await db.run(sql.unsafe`
    WITH revoked AS (DELETE FROM member_links WHERE member_id = ${id} AND purpose = 'reset')
    UPDATE members SET password = ${password} WHERE id = ${id}
  `)
}

/** Adds a member to an account, or changes the member's role there. */
export async function saveMembership(tx: Tx, account_id: string, member_id: string, role: string): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO memberships (account_id, member_id, role) VALUES (${account_id}, ${member_id}, ${role})
    ON CONFLICT (account_id, member_id) DO UPDATE SET role = excluded.role
  `)
}

/** Locks the memberships of an account, so that two simultaneous changes cannot both remove the last owner. */
export async function lockMemberships(tx: Tx, account_id: string): Promise<{ member_id: string; role: string }[]> {
  return tx.any(sql.type(z.object({ member_id: z.string(), role: z.string() }))`
    SELECT member_id, role FROM memberships WHERE account_id = ${account_id} ORDER BY member_id FOR UPDATE
  `)
}

export async function deleteMembership(tx: Tx, account_id: string, member_id: string): Promise<void> {
  await tx.run(sql.unsafe`DELETE FROM memberships WHERE account_id = ${account_id} AND member_id = ${member_id}`)
}

const OwnAccount = z.object({ id: z.string(), name: z.string(), role: Role })
export type OwnAccount = z.infer<typeof OwnAccount>

/** Lists the accounts of a member, by name. */
export async function listOwnAccounts(db: Queryable, member_id: string): Promise<OwnAccount[]> {
  return db.any(sql.type(OwnAccount)`
    SELECT a.id, a.name, s.role FROM memberships s JOIN accounts a ON a.id = s.account_id
    WHERE s.member_id = ${member_id} ORDER BY a.name
  `)
}

const ListedMember = z.object({
  email: z.string(),
  name: z.string(),
  account_name: z.string(),
  role: Role,
  is_operator: z.boolean(),
})

/** Lists the members of all accounts, for operators. */
export async function listAllMembers(db: Queryable): Promise<z.infer<typeof ListedMember>[]> {
  return db.any(sql.type(ListedMember)`
    SELECT m.email, m.name, a.name AS account_name, s.role, m.is_operator
    FROM members m JOIN memberships s ON s.member_id = m.id JOIN accounts a ON a.id = s.account_id
    ORDER BY m.email, a.name LIMIT 10000
  `)
}

export async function hasMembers(db: Queryable): Promise<boolean> {
  return db.exists(sql.fragment`SELECT FROM members`)
}

/** Returns false if there is no such member. */
export async function setOperator(db: Queryable, email: string, is_operator: boolean): Promise<boolean> {
  return (await db.run(sql.unsafe`UPDATE members SET is_operator = ${is_operator} WHERE email = ${email}`)) > 0
}
