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
      // Whoever is not trusted is not believed here either: mail would be signed with keys that nobody can find.
      const keyed = await findKeyedDomain(pool, owner)
      if (!keyed?.is_trusted) throw new UsageError('DNS is asked about this domain: its keys sign once it has them.')
      if (!(await activateTrustedKeys(foundation, owner)))
        throw new UsageError('It has no new keys: first without --now.')
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

/** The records of keys, on stderr. */
export function adviseKeys(
  domain: string,
  keys: { selector: string; algorithm: DkimAlgorithm; public_key: string }[],
): void {
  for (const { selector, algorithm, public_key } of keys) {
    console.error(`Publish: ${selector}._domainkey.${domain} TXT "${dkimRecordValue(algorithm, public_key)}"`)
  }
}
