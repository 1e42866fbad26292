import { checkBaseUrl } from './base_url.ts'
import { checkBlocklists } from './blocklists.ts'
import { about, type Check, type Finding } from './finding.ts'
import { checkHeloName } from './helo_name.ts'
import { checkPort25 } from './port25.ts'
import { checkRelay } from './relay.ts'
import { checkServerDomain } from './server_domain.ts'
import type { Site } from './site.ts'

const TRANSPORT = about('MAIL_TRANSPORT')

/** What is to be asked of the world. `server`: whose port 25 is tried instead of those of some providers. */
export function siteChecks(site: Site, server: string | undefined): Check[] {
  const transport = site.config.MAIL_TRANSPORT
  const isRelay = transport.startsWith('smtp')
  return [
    { check: 'MAIL_TRANSPORT', run: async () => tellTransport(site) },
    ...(isRelay ? [{ check: 'relay', run: () => checkRelay(transport, site.config.HELO_NAME) }] : []),
    ...(isRelay && !site.isDirect && !server ? [] : [{ check: 'port 25', run: () => checkPort25(site, server) }]),
    { check: 'HELO_NAME', run: () => checkHeloName(site) },
    { check: 'DNSBL', run: () => checkBlocklists(site) },
    { check: 'SERVER_DOMAIN', run: () => checkServerDomain(site) },
    { check: 'BASE_URL', run: () => checkBaseUrl(site) },
  ]
}

function tellTransport({ config: { MAIL_TRANSPORT }, isDirect }: Site): Finding[] {
  if (MAIL_TRANSPORT === 'direct') return [TRANSPORT.ok('direct: mail goes to its receivers from here.')]
  const others = isDirect ? 'but for domains of transport direct ' : ''
  if (MAIL_TRANSPORT !== 'capture') return [TRANSPORT.ok(`Mail leaves ${others}by a relay.`)]
  const fix = 'MAIL_TRANSPORT=direct, or MAIL_TRANSPORT=smtp://user:pass@relay.acme.com:587'
  return [TRANSPORT.warning(`capture: ${others}nothing leaves this machine.`, fix)]
}
