import { createInvitation, createResetLink } from '#flows/members/member_links.ts'
import { memberAddress } from '#lib/members/new_member.ts'
import { ROLES, type Role } from '#lib/members/roles.ts'
import { findLogin, listAllMembers, listOwnAccounts, setOperator } from '#sql/members/members.ts'
import type { Pool } from '#sql/pool.ts'
import { accountOf, type Changed, type Command, changes, optional, printable, takes, UsageError } from './values.ts'

/** Commands for members of accounts, who sign in to the dashboard. */
export const memberCommands: Record<string, Command> = {
  'member invite': changes(1, ['account', 'role'], async (foundation, values, [address]) => {
    const email = memberAddress(emailOf(address))
    if (!email) throw new UsageError(`${address} is not an email address.`)
    const account = await accountOf(foundation.pool, values)
    const role = (optional(values, 'role') ?? 'admin') as Role
    if (!ROLES.includes(role)) throw new UsageError(`--role must be one of: ${ROLES.join(', ')}`)
    const url = await createInvitation(foundation.pool, foundation, {
      account_id: account.id,
      email,
      role,
      invited_by: null,
    })
    console.log(url)
    console.error(`Give this link to ${email}. It works once, within seven days.`)
    return { account_id: account.id, target: email }
  }),

  'member reset': changes(1, [], async (foundation, _values, [address]) => {
    const email = emailOf(address)
    if (!(await findLogin(foundation.pool, email))) throw new UsageError(`There is no member ${address}.`)
    console.log(await createResetLink(foundation, email))
    console.error('With this link the member chooses another password. It works once, within an hour.')
    return changedOf(foundation.pool, email)
  }),

  'member operator': changes(2, [], async ({ pool }, _values, [address, is]) => {
    if (is !== 'yes' && is !== 'no') throw new UsageError('member operator EMAIL yes or no?')
    const email = emailOf(address)
    if (!(await setOperator(pool, email, is === 'yes'))) throw new UsageError(`There is no member ${address}.`)
    console.log(is)
    return changedOf(pool, email)
  }),

  'member list': takes(0, [], async ({ pool }) => {
    for (const { email, name, account_name, role, is_operator } of await listAllMembers(pool)) {
      console.log([email, printable(name), account_name, role, ...(is_operator ? ['operator'] : [])].join('  '))
    }
  }),
}

/** Returns a change for each account of a member, since it concerns all of them. */
async function changedOf(pool: Pool, email: string): Promise<Changed[]> {
  const member = await findLogin(pool, email)
  const accounts = member ? await listOwnAccounts(pool, member.id) : []
  return accounts.map(({ id }) => ({ account_id: id, target: email }))
}

function emailOf(address: string | undefined): string {
  if (!address) throw new UsageError('Which member? Give the address.')
  return memberAddress(address) ?? address.trim().toLowerCase()
}
