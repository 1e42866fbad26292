import { setDomainTransport } from '#sql/domains/domains.ts'
import { accountOf, type Command, changes, domainNamed, UsageError } from './values.ts'

const transports = { capture: 'capture', relay: 'relay', direct: 'direct', default: null } as const

/** Commands for domains that only the operator has. */
export const domainCommands: Record<string, Command> = {
  'domain transport': changes(2, ['account'], async ({ pool }, values, [name, kind = '']) => {
    if (!name) throw new UsageError('Which domain?')
    if (!Object.hasOwn(transports, kind)) throw new UsageError('Which transport? capture, relay, direct or default.')
    const domain = await domainNamed(pool, await accountOf(pool, values), name)
    await setDomainTransport(pool, domain, transports[kind as keyof typeof transports])
    console.log(kind)
    return { account_id: domain.account_id, target: domain.name }
  }),
}
