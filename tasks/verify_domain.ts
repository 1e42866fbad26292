import { verifyDomain } from '#flows/domains/verify_domain.ts'
import type { Task } from './task.ts'

export const verify_domain: Task<'verify_domain'> = async ({ account_id, domain_id }, { pool, dns, log, config }) => {
  await verifyDomain({ pool, dns, log, server_domain: config.SERVER_DOMAIN }, account_id, domain_id)
}
