import { findAccount, findFirstAccount } from '../sql/accounts.ts'
import type { Foundation } from './run_process.ts'

/** The account that mail for the operator of this server belongs to. @throws when OPERATOR_ACCOUNT names none */
export async function findOperator({ pool, config }: Pick<Foundation, 'pool' | 'config'>): Promise<string | null> {
  const { OPERATOR_ACCOUNT } = config
  if (OPERATOR_ACCOUNT === undefined) return (await findFirstAccount(pool))?.id ?? null
  const account = await findAccount(pool, OPERATOR_ACCOUNT)
  if (!account) throw new Error(`OPERATOR_ACCOUNT: there is no account ${OPERATOR_ACCOUNT}`)
  return account.id
}
