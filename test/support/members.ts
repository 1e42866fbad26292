import { startSession } from '#flows/members/sessions.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { newId } from '#lib/ids.ts'
import { hashPassword } from '#lib/members/password.ts'
import type { Role } from '#lib/members/roles.ts'
import { insertMember, saveMembership } from '#sql/members/members.ts'

export const PASSWORD = 'correct horse battery'
/** The same for all members, since a hash is made to cost much. */
let hashed: Promise<string> | undefined

/** Adds a member with PASSWORD to an account. */
export async function newMember(
  { pool }: Foundation,
  account_id: string,
  role: Role,
): Promise<{ id: string; email: string }> {
  const id = newId()
  const email = `${role}-${id.slice(-8)}@acme.com`
  hashed ??= hashPassword(PASSWORD)
  const password = await hashed
  await pool.transaction(async tx => {
    await insertMember(tx, { id, email, name: `A member (${role})`, password, is_operator: false })
    await saveMembership(tx, account_id, id, role)
  })
  return { id, email }
}

/** Creates a session; returns its token for the cookie. */
export function sessionOf(world: Foundation, member_id: string): Promise<string> {
  return startSession(world, { member_id, password: null }, { client_address: '127.0.0.1', user_agent: 'test' })
}
