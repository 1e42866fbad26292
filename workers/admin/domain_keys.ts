import { activateTrustedKeys, rotateDkimKeys } from '#flows/domains/rotate_dkim_keys.ts'
import { type DkimAlgorithm, dkimRecordValue } from '#lib/mail/dkim.ts'
import { listDkimKeys } from '#sql/domains/dkim_keys.ts'
import { findKeyedDomain } from '#sql/domains/dkim_rotation.ts'
import { accountOf, type Command, changes, domainNamed, UsageError } from './values.ts'

export const domainKeyCommands: Record<string, Command> = {
  'domain rotate': changes(1, ['account', 'now'], async (foundation, values, [name]) => {
    const { pool } = foundation
    if (!name) throw new UsageError('Which domain?')
    const domain = await domainNamed(pool, await accountOf(pool, values), name)
    const owner = { account_id: domain.account_id, domain_id: domain.id }
    const changed = { account_id: domain.account_id, target: domain.name }
    if (values.now) {
      // Only for domains that were added with --verified: for all others, mail would be signed with keys that may not be in DNS.
      const keyed = await findKeyedDomain(pool, owner)
      if (!keyed?.is_trusted) throw new UsageError('DNS of this domain is checked: new keys are used once it has them.')
      if (!(await activateTrustedKeys(foundation, owner)))
        throw new UsageError('It has no new keys. Run the command without --now first.')
      console.log('rotated')
      return changed
    }
    await rotateDkimKeys(foundation, owner, 'operator')
    const keys = await listDkimKeys(pool, owner.account_id, owner.domain_id)
    console.log('staged')
    adviseKeys(
      domain.name,
      keys.filter(key => key.state === 'staged'),
    )
    return changed
  }),
}

/** Prints the DNS records of keys to stderr. */
export function adviseKeys(
  domain: string,
  keys: { selector: string; algorithm: DkimAlgorithm; public_key: string }[],
): void {
  for (const { selector, algorithm, public_key } of keys) {
    console.error(`Publish: ${selector}._domainkey.${domain} TXT "${dkimRecordValue(algorithm, public_key)}"`)
  }
}
