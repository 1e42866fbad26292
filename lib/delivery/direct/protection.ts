import type { Protection } from '#lib/delivery/smtp/session_pool.ts'
import type { Outgoing } from '#lib/delivery/transport.ts'
import type { Log } from '#lib/log.ts'
import type { MailServer } from './mail_servers.ts'
import { allowsHost, type StsPolicy } from './mta_sts.ts'

/** Returns how a connection to the host must be protected; null if no mail may go there (RFC 8461 section 5). */
export async function requiredProtection(
  server: MailServer,
  policy: StsPolicy | null,
  { tls }: Outgoing,
): Promise<Protection | null> {
  if (policy?.mode === 'enforce') return (await allowsHost(policy, server.host)) ? 'verified' : null
  return tls === 'enforced' ? 'encrypted' : 'none'
}

/** Logs mail that an MTA-STS policy in testing mode would block if it were enforced (RFC 8461 section 5). */
export async function reportTestedPolicy(
  { host }: MailServer,
  policy: StsPolicy,
  protection: Protection,
  { delivery_id }: Outgoing,
  log: Log,
): Promise<void> {
  if (protection === 'verified' && (await allowsHost(policy, host))) return
  log.info({ delivery_id, host, protection }, 'an MTA-STS policy in testing mode would have blocked this mail')
}
