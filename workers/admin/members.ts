import { createInvitation, createResetLink } from '#flows/members/member_links.ts'
import { writeAudit } from '#flows/members/write_audit.ts'
import { ROLES, type Role } from '#lib/members/roles.ts'
import { listAllMembers, setOperator } from '#sql/members/members.ts'
import { accountOf, type Command, optional, printable, takes, UsageError } from './values.ts'

/** Members of accounts, who sign in at the dashboard. */
export const memberCommands: Record<string, Command> = {
  'member invite': takes(1, ['account', 'role'], async (foundation, values, [address]) => {
    const email = emailOf(address)
    const account = await accountOf(foundation.pool, values)
    const role = (optional(values, 'role') ?? 'admin') as Role
    if (!ROLES.includes(role)) throw new UsageError(`--role must be one of: ${ROLES.join(', ')}`)
    const url = await createInvitation(foundation, { account_id: account.id, email, role, invited_by: null })
    const change = { account_id: account.id, action: 'member invite', target: email, client_address: null }
    await writeAudit(foundation.pool, { ...change, actor: 'operator', actor_id: null, actor_name: 'operator' })
    console.log(url)
    console.error(`Give it to ${email}. It is good for seven days, and once.`)
  }),

  'member reset': takes(1, [], async (foundation, _values, [address]) => {
    console.log(await createResetLink(foundation, emailOf(address)))
    console.error('By this link the member chooses another password. It is good for an hour, and once.')
  }),

  'member operator': takes(2, [], async ({ pool }, _values, [address, is]) => {
    if (is !== 'yes' && is !== 'no') throw new UsageError('member operator EMAIL yes or no?')
    if (!(await setOperator(pool, emailOf(address), is === 'yes')))
      throw new UsageError(`There is no member ${address}.`)
    console.log(is)
  }),

  'member list': takes(0, [], async ({ pool }) => {
    for (const { email, name, account_name, role, is_operator } of await listAllMembers(pool)) {
      console.log([email, printable(name), account_name, role, ...(is_operator ? ['operator'] : [])].join('  '))
    }
  }),
}

function emailOf(address: string | undefined): string {
  if (!address) throw new UsageError('Which member? Give the address.')
  return address.trim().toLowerCase()
}
