import { z } from 'zod'
import type { Dns } from '#lib/net/dns.ts'
import { listZones } from '#lib/net/domain_name.ts'

/** DNS providers by the names of their name servers. `is_writable`: this server can write records there. */
const PROVIDERS = [
  { name: 'Cloudflare', servers: /\.(?:ns\.cloudflare\.com|foundationdns\.(?:com|net|org))$/, is_writable: true },
  { name: 'GoDaddy', servers: /\.domaincontrol\.com$/, is_writable: true },
  { name: 'Namecheap', servers: /\.registrar-servers\.com$/, is_writable: true },
  { name: 'Amazon Route 53', servers: /^ns-\d+\.awsdns-\d+\.(?:com|net|org|co\.uk)$/ },
  { name: 'Digital Ocean', servers: /^ns\d+\.digitalocean\.com$/ },
  { name: 'Vercel', servers: /\.vercel-dns(?:-\d+)?\.com$/ },
  { name: 'Google Domains', servers: /\.googledomains\.com$/ },
] as const

const UNIDENTIFIED = 'Unidentified'

export const DetectedProvider = z.object({
  provider: z.enum([...PROVIDERS.map(({ name }) => name), UNIDENTIFIED]).describe('Provider of the name servers.'),
  nameservers: z.array(z.string()).describe('Name servers of the zone.'),
  auto_configurable: z.boolean().describe('True if this server can write the records at the provider.'),
})
export type DetectedProvider = z.infer<typeof DetectedProvider>

/**
 * Returns the provider of the zone that has a domain: its own or the next one above it, up to the registered domain. Returns null
 * if DNS did not respond.
 */
export async function detectProvider(dns: Dns, domain: string): Promise<DetectedProvider | null> {
  for (const name of listZones(domain)) {
    const answer = await dns.ns(name)
    if (answer.outcome === 'failed') return null
    if (answer.outcome === 'found' && answer.records.length > 0) return providerOf(answer.records.sort())
  }
  return providerOf([])
}

function providerOf(nameservers: string[]): DetectedProvider {
  const found = PROVIDERS.find(({ servers }) => nameservers.length > 0 && nameservers.every(ns => servers.test(ns)))
  return {
    provider: found?.name ?? UNIDENTIFIED,
    nameservers,
    auto_configurable: found !== undefined && 'is_writable' in found,
  }
}
