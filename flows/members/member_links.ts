import type { Foundation } from '#flows/process/run_process.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { hashPassword } from '#lib/members/password.ts'
import type { Role } from '#lib/members/roles.ts'
import { generateToken, hashToken } from '#lib/members/secret_token.ts'
import {
  findMemberLink,
  insertMemberLink,
  type MemberLink,
  type NewMemberLink,
  takeMemberLink,
} from '#sql/members/member_links.ts'
import {
  deleteLeftMember,
  findLogin,
  insertMember,
  isMemberOf,
  lockMemberships,
  saveMembership,
  setPassword,
} from '#sql/members/members.ts'
import { deleteSessions } from '#sql/members/sessions.ts'
import type { Queryable, Tx } from '#sql/pool.ts'
import { refuseDuplicate } from '#sql/retry.ts'

type Links = Pick<Foundation, 'config' | 'pool' | 'secrets'>
type Maker = Pick<Foundation, 'config' | 'secrets'>

const HOUR_MS = 3_600_000
const INVITATION_MS = 7 * 24 * HOUR_MS

/**
 * Creates a link for the first member of a server, who becomes an operator and an owner of `account_id`. Valid once,
 * for an hour.
 */
export function createSetupLink(links: Links, account_id: string): Promise<string> {
  const link = { purpose: 'setup', account_id, role: 'owner', email: null, member_id: null, invited_by: null } as const
  return createLink(links.pool, links, { ...link, valid_ms: HOUR_MS })
}

export type Invitation = { account_id: string; email: string; role: Role; invited_by: string | null }

/**
 * Creates a link that invites a person to an account. Valid once, for seven days.
 *
 * @throws {ApiError} `validation_error` if the person belongs to the account already
 */
export async function createInvitation(db: Queryable, maker: Maker, invitation: Invitation): Promise<string> {
  const { account_id, email } = invitation
  if (await isMemberOf(db, account_id, email)) throw alreadyBelongs(email)
  return createLink(db, maker, { ...invitation, purpose: 'invite', member_id: null, valid_ms: INVITATION_MS })
}

/** Creates a link by which a member chooses a new password. Valid once, for an hour. @throws {ApiError} `not_found` */
export async function createResetLink(links: Links, email: string): Promise<string> {
  const member = await findLogin(links.pool, email)
  if (!member) throw notFound('Member')
  const nobody = { account_id: null, role: null, email: null, invited_by: null }
  return createLink(links.pool, links, { ...nobody, purpose: 'reset', member_id: member.id, valid_ms: HOUR_MS })
}

async function createLink(
  db: Queryable,
  { config, secrets }: Maker,
  link: Omit<NewMemberLink, 'hash' | 'id'>,
): Promise<string> {
  const token = generateToken()
  await insertMemberLink(db, { ...link, id: newId(), hash: hashToken('member_link', token, secrets.pepper) })
  return `${config.BASE_URL}/join/${token}`
}

/** @throws {ApiError} `not_found` if the link is wrong, used or too old */
export async function openLink({ pool, secrets }: Links, token: string): Promise<MemberLink> {
  const link = await findMemberLink(pool, hashToken('member_link', token, secrets.pepper))
  if (!link) throw notFound('Link')
  return link
}

export type Given = { email?: string | undefined; name: string; password: string }

/**
 * Carries out a link: creates a member for an account, or sets a password, which ends all sessions of the member.
 * Returns the id of the member.
 *
 * @throws {ApiError} `not_found` if the link was used meanwhile; `validation_error` if the address is a member's
 *   already
 */
export async function followLink({ pool }: Links, link: MemberLink, given: Given): Promise<string> {
  const password = await hashPassword(given.password)
  return pool.transaction(async tx => {
    if (!(await takeMemberLink(tx, link.id))) throw notFound('Link')
    if (link.member_id) {
      await setPassword(tx, link.member_id, password)
      await deleteSessions(tx, link.member_id, null)
      return link.member_id
    }
    return join(tx, link, { ...given, password })
  })
}

async function join(tx: Tx, link: MemberLink, { email, name, password }: Given): Promise<string> {
  const address = link.email ?? email
  if (!address) throw new ApiError('missing_required_field', 'Missing `email` field.')
  await deleteLeftMember(tx, address)
  const id = newId()
  const inserted = insertMember(tx, { id, email: address, name, password, is_operator: link.purpose === 'setup' })
  await inserted.catch(refuseDuplicate(`${address} is a member already: sign in, then open the link again.`, 422))
  await saveMembership(tx, link.account_id as string, id, link.role as Role)
  return id
}

/**
 * Adds a signed-in member to the account that invited the member's address.
 *
 * @throws {ApiError} also if the member already belongs to the account: an invitation must not change a role, since it would
 *   bypass the rules for owners
 */
export async function acceptInvitation({ pool }: Links, link: MemberLink, member: Member): Promise<void> {
  if (link.purpose !== 'invite' || link.email !== member.email) {
    throw new ApiError('validation_error', `The invitation is for ${link.email ?? 'somebody else'}.`)
  }
  await pool.transaction(async tx => {
    const account_id = link.account_id as string
    if ((await lockMemberships(tx, account_id)).some(({ member_id }) => member_id === member.member_id)) {
      throw alreadyBelongs(member.email)
    }
    if (!(await takeMemberLink(tx, link.id))) throw notFound('Link')
    await saveMembership(tx, account_id, member.member_id, link.role as Role)
  })
}

type Member = { member_id: string; email: string }

function alreadyBelongs(email: string): ApiError {
  return new ApiError('validation_error', `${email} already belongs to this account.`)
}
