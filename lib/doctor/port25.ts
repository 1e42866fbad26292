import type { Dns } from '#lib/net/dns.ts'
import { about, type Finding } from './finding.ts'
import { readGreeting } from './greeting.ts'
import { fault, type Site } from './site.ts'

/** Domains whose servers are always up and far from each other. */
const DOMAINS = ['gmail.com', 'outlook.com', 'yahoo.com']

const PORT = 25
const DEADLINE_MS = 5_000

const report = about('port 25')

type Result = { host: string; outcome: 'greeted' | 'shut' | 'unknown'; detail: string }

/** Checks whether other mail servers can be reached from here: `server`, such as `mx.acme.com:25`, or some that are always up. */
export async function checkPort25(site: Site, server: string | undefined): Promise<Finding[]> {
  const results = server
    ? [await greetServer(server)]
    : await Promise.all(DOMAINS.map(domain => greetDomain(site.dns, domain)))
  const greeted = results.filter(({ outcome }) => outcome === 'greeted')
  const shut = results.filter(({ outcome }) => outcome === 'shut')
  const list = (some: Result[]) => some.map(result => `${result.host} (${result.detail})`).join(', ')
  if (shut.length === 0 && greeted.length === 0)
    return [report.unknown(`No server was found that could be tried: ${list(results)}.`)]
  if (greeted.length === 0) {
    const fix = [
      'Ask the provider of this host to open outgoing TCP port 25 (nc -v gmail-smtp-in.l.google.com 25 must show a greeting with 220),',
      'or send through a relay on another port: MAIL_TRANSPORT=smtp://user:pass@relay.acme.com:587',
    ]
    return [fault(site, report)(`It is blocked: ${list(shut)}.`, fix.join('\n'))]
  }
  if (shut.length > 0) return [report.warning(`Not all can be reached: ${list(shut)}; greeted by ${list(greeted)}.`)]
  return [report.ok(`Greeted by ${list(greeted)}.`)]
}

async function greetDomain(dns: Dns, domain: string): Promise<Result> {
  const unknown = (detail: string): Result => ({ host: domain, outcome: 'unknown', detail })
  const mx = await dns.mx(domain)
  if (mx.outcome !== 'found') return unknown(mx.outcome === 'failed' ? mx.reason : 'it has no MX')
  const best = mx.records.toSorted((a, b) => a.priority - b.priority)[0]?.exchange
  const addresses = best ? await dns.addresses(best) : null
  const [address] = addresses?.outcome === 'found' ? addresses.records : []
  return address && best ? greet(address, PORT, best) : unknown('its MX has no address')
}

function greetServer(server: string): Promise<Result> {
  const { hostname, port } = new URL(`smtp://${server}`)
  return greet(hostname.replace(/^\[|\]$/g, ''), Number(port || PORT), server)
}

async function greet(host: string, port: number, name: string): Promise<Result> {
  try {
    const line = await readGreeting(host, port, DEADLINE_MS)
    return { host: name, outcome: line.startsWith('220') ? 'greeted' : 'shut', detail: line }
  } catch (error) {
    return { host: name, outcome: 'shut', detail: (error as Error).message }
  }
}
