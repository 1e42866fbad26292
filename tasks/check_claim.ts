import { checkClaim } from '#flows/domains/check_claim.ts'
import type { Task } from './task.ts'

export const check_claim: Task<'check_claim'> = async ({ account_id, claim_id }, work) => {
  await checkClaim({ ...work, server_domain: work.config.SERVER_DOMAIN }, account_id, claim_id)
}
