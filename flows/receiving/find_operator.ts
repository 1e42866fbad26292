import type { Foundation } from '#flows/process/run_process.ts'
import { findAccount, findFirstAccount } from '#sql/accounts/accounts.ts'
import type { ReceivingParty } from './receive_email.ts'

/**
 * Finds the account that gets mail to `postmaster` without a domain, whoever owns the domain of this server; null while
 * there is no account.
 *
 * @throws if OPERATOR_ACCOUNT names no account
 */
export async function findOperatorParty({
  pool,
  config,
}: Pick<Foundation, 'pool' | 'config'>): Promise<ReceivingParty | null> {
  const { OPERATOR_ACCOUNT, SERVER_DOMAIN } = config
  const account = OPERATOR_ACCOUNT ? await findAccount(pool, OPERATOR_ACCOUNT) : await findFirstAccount(pool)
  if (OPERATOR_ACCOUNT && !account) throw new Error(`OPERATOR_ACCOUNT: there is no account ${OPERATOR_ACCOUNT}`)
  return account && { account_id: account.id, domain_id: null, recipient: `postmaster@${SERVER_DOMAIN}` }
}
