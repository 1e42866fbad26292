import { z } from 'zod'
import type { Dns } from '#lib/net/dns.ts'

/** The mail servers of a name. `ours`: all of them are this server. */
export const MxCheck = z.object({
  has_mx: z.boolean().describe('True if the name has a mail server.'),
  ours: z.boolean().describe('True if all its MX records lead to this server.'),
  records: z
    .array(
      z.object({
        exchange: z.string().describe('Host name of the mail server; empty if the domain accepts no mail.'),
        priority: z.int().describe('The lowest number is tried first.'),
      }),
    )
    .describe('Its MX records.'),
})
export type MxCheck = z.infer<typeof MxCheck>

/**
 * Looks up the mail servers of a name. Returns null if DNS did not respond. A null MX (RFC 7505) is a record, but not a mail
 * server.
 */
export async function checkMx(dns: Dns, name: string, inbound_host: string): Promise<MxCheck | null> {
  const answer = await dns.mx(name)
  if (answer.outcome === 'failed') return null
  const found = answer.outcome === 'found' ? answer.records : []
  const records = found
    .map(({ exchange, priority }) => ({ exchange, priority }))
    .sort((one, other) => one.priority - other.priority || (one.exchange < other.exchange ? -1 : 1))
  const has_mx = records.some(({ exchange }) => exchange !== '')
  return { has_mx, ours: has_mx && records.every(({ exchange }) => exchange === inbound_host), records }
}
