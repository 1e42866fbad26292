import { defaultTransport, relayUrls } from '#lib/delivery/relay_urls.ts'
import { checkBaseUrl } from './base_url.ts'
import { checkBlocklists } from './blocklists.ts'
import { about, type Check, type Finding } from './finding.ts'
import { checkHeloName } from './helo_name.ts'
import { checkInbound } from './inbound.ts'
import { checkPort25 } from './port25.ts'
import { checkRelay } from './relay.ts'
import { checkServerDomain } from './server_domain.ts'
import { serviceChecks } from './services.ts'
import { isDirect, type Site, type TransportKind } from './site.ts'

const TRANSPORT = about('MAIL_TRANSPORT')

/** Returns the checks that need the network. `server`: as in `checkPort25`. */
export function siteChecks(site: Site, server: string | undefined): Check[] {
  const { config } = site
  const isAllRelayed = defaultTransport(config) === 'relay' && !isDirect(site)
  return [
    { check: 'MAIL_TRANSPORT', run: async () => transportFindings(site) },
    ...relayUrls(config).map(url => ({ check: 'relay', run: () => checkRelay(url, config.HELO_NAME) })),
    ...(isAllRelayed && !server ? [] : [{ check: 'port 25', run: () => checkPort25(site, server) }]),
    { check: 'HELO_NAME', run: () => checkHeloName(site) },
    { check: 'DNSBL', run: () => checkBlocklists(site) },
    { check: 'SERVER_DOMAIN', run: () => checkServerDomain(site) },
    { check: 'SMTP_PORT', run: () => checkInbound(config) },
    { check: 'BASE_URL', run: () => checkBaseUrl(site) },
    ...serviceChecks(config),
  ]
}

function transportFindings({ config, transports }: Site): Finding[] {
  const relays = relayUrls(config).length
  const findings = [defaultTransportFinding(defaultTransport(config), relays)]
  const others = transports.filter(kind => kind !== defaultTransport(config))
  if (others.length > 0) findings.push(TRANSPORT.ok(`Some domains use other transports: ${others.join(', ')}.`))
  if (transports.includes('relay') && relays === 0) {
    const finding = 'Some domains use a relay, but none is configured: their mail waits.'
    findings.push(TRANSPORT.problem(finding, 'RELAY_URL=smtp://user:pass@relay.acme.com:587'))
  }
  return findings
}

function defaultTransportFinding(kind: TransportKind, relays: number): Finding {
  if (kind === 'direct') return TRANSPORT.ok('direct: mail is sent from here to its receivers.')
  if (kind === 'relay') return TRANSPORT.ok(`Mail is sent through ${relays === 1 ? 'a relay' : `${relays} relays`}.`)
  const fix = 'MAIL_TRANSPORT=direct, or MAIL_TRANSPORT=smtp://user:pass@relay.acme.com:587'
  return TRANSPORT.warning('capture: mail is stored, nothing leaves this machine.', fix)
}
