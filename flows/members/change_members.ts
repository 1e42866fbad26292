import { ApiError, notFound } from '#lib/errors.ts'
import { may, type Role } from '#lib/members/roles.ts'
import { deleteInvitationsOf } from '#sql/members/member_links.ts'
import { deleteMembership, lockMemberships, saveMembership } from '#sql/members/members.ts'
import { deleteSessions } from '#sql/members/sessions.ts'
import type { Pool, Tx } from '#sql/pool.ts'

type Membership = { member_id: string; role: string }
type Change = { account_id: string; member_id: string; by: Role }

/** @throws {ApiError} `not_found`; `validation_error` if an admin changes owners, or if no owner would be left */
export async function changeRole(pool: Pool, change: Change, role: Role): Promise<void> {
  await pool.transaction(async tx => {
    await checkChange(tx, change, role)
    await saveMembership(tx, change.account_id, change.member_id, role)
  })
}

/**
 * Removes a member from an account; from then on the member's sessions have no access to it, and no open invitation leads
 * back. @throws {ApiError} as `changeRole`
 */
export async function removeMember(pool: Pool, change: Change): Promise<void> {
  await pool.transaction(async tx => {
    await checkChange(tx, change, null)
    await deleteMembership(tx, change.account_id, change.member_id)
    await deleteInvitationsOf(tx, change.account_id, change.member_id)
  })
}

/**
 * Ends all sessions of a member except the one with the id `except`, in other accounts too.
 *
 * @throws {ApiError} `not_found`; `validation_error` if an admin signs out an owner
 */
export async function signOutMember(pool: Pool, change: Change, except: string): Promise<void> {
  await pool.transaction(async tx => {
    await lockMember(tx, change)
    await deleteSessions(tx, change.member_id, except)
  })
}

/** Returns all members of the account. */
async function lockMember(tx: Tx, { account_id, member_id, by }: Change): Promise<Membership[]> {
  const members = await lockMemberships(tx, account_id)
  const member = members.find(one => one.member_id === member_id)
  if (!member) throw notFound('Member')
  if (member.role === 'owner' && !may(by, 'own')) throw onlyOwners()
  return members
}

async function checkChange(tx: Tx, change: Change, role: Role | null): Promise<void> {
  const members = await lockMember(tx, change)
  if (role === 'owner' && !may(change.by, 'own')) throw onlyOwners()
  const others = members.filter(one => one.role === 'owner' && one.member_id !== change.member_id)
  if (role !== 'owner' && others.length === 0) {
    throw new ApiError('validation_error', 'An account must keep at least one owner.')
  }
}

/** Returns the error for admins who try to change owners. */
export function onlyOwners(): ApiError {
  return new ApiError('validation_error', 'Only owners can change owners.')
}
