import { isIP } from 'node:net'
import { hostOf } from '#lib/net/fetch/policy.ts'
import { about, type Finding } from './finding.ts'
import { recordLine } from './record_line.ts'
import { addressType, type Site } from './site.ts'

const BASE_URL = about('BASE_URL')
const PROXIES = about('TRUSTED_PROXIES')

/** Checks whether links in mail and in responses lead to this server. */
export async function checkBaseUrl(site: Site): Promise<Finding[]> {
  const { BASE_URL: base } = site.config
  const { origin, pathname } = new URL(base)
  if (pathname === '/') return checkHost(site)
  const [finding, fix] = base.endsWith('/api')
    ? [
        'ends in /api, the path of the API: links in mail lead nowhere, unless a proxy removes it.',
        base.slice(0, -'/api'.length),
      ]
    : [
        'has a path: the API and the links in mail need a proxy that removes it, and the dashboard and /docs do not work there.',
        `${origin}   (a host name of its own)`,
      ]
  return [BASE_URL.warning(`${base} ${finding}`, `BASE_URL=${fix}`), ...(await checkHost(site))]
}

async function checkHost(site: Site): Promise<Finding[]> {
  const { BASE_URL: base, TRUSTED_PROXIES } = site.config
  const url = new URL(base)
  const host = hostOf(url)
  if (/^(?:.*\.)?localhost$|^127\.|^::1$/.test(host)) {
    return [
      BASE_URL.warning(
        `${base} is reachable only from this machine.`,
        'BASE_URL=https:// and the public name of the API',
      ),
    ]
  }
  const findings = [...(isIP(host) ? [] : [await checkName(site, host)])]
  if (url.protocol === 'http:') {
    const fix = `BASE_URL=https://${url.host}   (with TLS in front of it)`
    findings.push(BASE_URL.warning(`${base} has no TLS: API keys are sent in the clear.`, fix))
  }
  if (!TRUSTED_PROXIES) {
    const fix = 'TRUSTED_PROXIES=the addresses of the proxies in front, such as 127.0.0.1'
    findings.push(PROXIES.warning('It is not set: all clients behind a proxy share one rate limit.', fix))
  }
  return findings
}

async function checkName({ dns, addresses }: Site, name: string): Promise<Finding> {
  const answer = await dns.addresses(name)
  if (answer.outcome === 'failed') return BASE_URL.unknown(`${name} could not be looked up (${answer.reason}).`)
  if (answer.outcome === 'found') return BASE_URL.ok(`${name} leads to ${answer.records.join(', ')}.`)
  const records = addresses.map(value => recordLine({ name, type: addressType(value), value })).join('\n')
  return BASE_URL.warning(`${name} has no address.`, records || `${name}. IN A the public address of the API`)
}
