import { z } from 'zod'
import { ROLES } from '#lib/members/roles.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

export const MemberLink = z.object({
  id: z.string(),
  purpose: z.enum(['setup', 'invite', 'reset']),
  account_id: z.string().nullable(),
  account_name: z.string().nullable(),
  role: z.enum(ROLES).nullable(),
  email: z.string().nullable(),
  member_id: z.string().nullable(),
  invited_by: z.string().nullable(),
  expires_at: z.date(),
})
export type MemberLink = z.infer<typeof MemberLink>

export type NewMemberLink = {
  hash: Buffer
  id: string
  purpose: 'setup' | 'invite' | 'reset'
  account_id: string | null
  role: string | null
  email: string | null
  member_id: string | null
  invited_by: string | null
  valid_ms: number
}

/** Stores a link; it replaces earlier links of the same purpose and person. */
export async function insertMemberLink(db: Queryable, link: NewMemberLink): Promise<void> {
  const { id, purpose, account_id, role, email, member_id, invited_by, valid_ms } = link
  await db.run(sql.unsafe`
    WITH earlier AS (
      DELETE FROM member_links WHERE purpose = ${purpose} AND account_id IS NOT DISTINCT FROM ${account_id}::uuid
        AND email IS NOT DISTINCT FROM ${email} AND member_id IS NOT DISTINCT FROM ${member_id}::uuid
    )
    INSERT INTO member_links (hash, id, purpose, account_id, role, email, member_id, invited_by, expires_at)
    VALUES (${sql.binary(link.hash)}, ${id}, ${purpose}, ${account_id}, ${role}, ${email}, ${member_id}, ${invited_by},
      now() + make_interval(secs => ${valid_ms / 1_000}))
  `)
}

const columns = sql.fragment`
  l.id, l.purpose, l.account_id, a.name AS account_name, l.role, coalesce(l.email, m.email) AS email, l.member_id,
  l.invited_by, l.expires_at
`
const tables = sql.fragment`member_links l LEFT JOIN accounts a ON a.id = l.account_id LEFT JOIN members m ON m.id = l.member_id`

export async function findMemberLink(db: Queryable, hash: Buffer): Promise<MemberLink | null> {
  return db.maybeOne(sql.type(MemberLink)`
    SELECT ${columns} FROM ${tables} WHERE l.hash = ${sql.binary(hash)} AND l.expires_at > now()
  `)
}

/** Lists the open invitations to an account. */
export async function listInvitations(db: Queryable, account_id: string): Promise<MemberLink[]> {
  return db.any(sql.type(MemberLink)`
    SELECT ${columns} FROM ${tables}
    WHERE l.account_id = ${account_id} AND l.purpose = 'invite' AND l.expires_at > now() ORDER BY l.id DESC LIMIT 100
  `)
}

/** Uses up a link; if two people follow it at once, only one gets true. */
export async function takeMemberLink(tx: Tx, id: string): Promise<boolean> {
  return (await tx.run(sql.unsafe`DELETE FROM member_links WHERE id = ${id} AND expires_at > now()`)) > 0
}

export async function deleteInvitation(db: Queryable, account_id: string, id: string): Promise<boolean> {
  const count = await db.run(sql.unsafe`
    DELETE FROM member_links WHERE account_id = ${account_id} AND id = ${id} AND purpose = 'invite'
  `)
  return count > 0
}

/** Deletes the open invitations to an account that are for a member, or were made by the member. */
export async function deleteInvitationsOf(tx: Tx, account_id: string, member_id: string): Promise<void> {
  await tx.run(sql.unsafe`
    DELETE FROM member_links l USING members m
    WHERE m.id = ${member_id} AND l.account_id = ${account_id} AND l.purpose = 'invite' AND m.email IN (l.email, l.invited_by)
  `)
}
