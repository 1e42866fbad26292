import { isIPv4 } from 'node:net'
import { isbot } from 'isbot'
import { LRUCache } from 'lru-cache'
import { parseNetworks } from '#lib/net/client_address.ts'

/**
 * The kind of client: a person; a proxy of their mail service on their behalf; Apple Mail Privacy Protection (unknown whether a
 * person opened it); a machine.
 */
export type HitClass = 'human' | 'proxy' | 'mpp' | 'machine'

/** The class and the rule that decided it. */
export type Classified = { class: HitClass; rule: string }

/** A request for a pixel or a link, as far as it shows who sends it. `purpose`: headers with which browsers mark a prefetch. */
export type HitRequest = {
  type: 'open' | 'click'
  method: string
  user_agent: string
  purpose: string
  ip: string | null
}

/**
 * Networks of mail filters: Exchange Online Protection (Outlook on the web fetches images from other networks) and Barracuda
 * Email Gateway Defense.
 */
const FILTERS = parseNetworks(
  [
    '40.92.0.0/15,40.107.0.0/16,52.100.0.0/14,52.238.78.88,104.47.0.0/17,2a01:111:f400::/48,2a01:111:f403::/48',
    '209.222.80.0/21,3.24.133.128/25,15.222.16.128/25,35.157.190.224/27,35.176.92.96/27',
  ].join(),
)

/** Proxies that fetch when the email is opened. Outlook's apps and Outlook on the web do not identify a proxy. */
const PROXIES: [rule: string, pattern: RegExp][] = [
  ['gmail_proxy', /GoogleImageProxy/],
  ['yahoo_proxy', /YahooMailProxy/],
  ['outlook_proxy', /Outlook-?(?:Image-?)?Proxy/i],
]

/** The whole User-Agent of Apple Mail Privacy Protection. */
const APPLE = 'Mozilla/5.0'

/** Filters and programs that isbot does not know, or that fetch a pixel, for which isbot is not used. */
const MACHINES: [rule: string, pattern: RegExp][] = [
  ['no_user_agent', /^\s*$/],
  ['barracuda', /BarracudaCentral|Barracuda Sentinel/i],
  // Microsoft Defender, which opens links.
  ['defender', /Chrome\/42\.0\.2311\.135 Safari\/537\.36 Edge\/12\.|Microsoft Office Existence Discovery/],
  ['filter', /Proofpoint|Mimecast|Trend ?Micro|Symantec|FireEye|ZScaler|Sophos|Cisco-?IronPort|MailScanner/i],
  ['headless', /HeadlessChrome|PhantomJS|Puppeteer|Playwright/i],
  [
    'program',
    /^(?:curl|wget|python|go-http-client|java|okhttp|axios|node|undici|ruby|perl|php|libwww|apache-httpclient)\b/i,
  ],
  ['robot', /bot\b|crawl|spider|slurp|BingPreview|facebookexternalhit|url ?preview/i],
]

/**
 * Classifies a hit by its request alone. Rules that need other hits or the time of the delivery are applied when it is recorded
 * (sql/tracking/record_hits.sql).
 */
export function classifyHit({ type, method, user_agent, purpose, ip }: HitRequest): Classified {
  if (method === 'HEAD') return machine('head')
  if (purpose && /prefetch|preview|prerender/i.test(purpose)) return machine('prefetch')
  if (ip && isFilter(ip)) return machine('filter_network')
  const known = byUserAgent[type].get(user_agent)
  if (known) return known
  const found = classifyUserAgent(type, user_agent)
  byUserAgent[type].set(user_agent, found)
  return found
}

/** Cached, since most people have one of a few browsers. */
const byUserAgent = {
  open: new LRUCache<string, Classified>({ max: 1_000 }),
  click: new LRUCache<string, Classified>({ max: 1_000 }),
}

/** Cached, since proxies of mail services, and programs that fetch all links of an email, return. */
const byAddress = new LRUCache<string, boolean>({ max: 10_000 })

function isFilter(ip: string): boolean {
  const known = byAddress.get(ip)
  if (known !== undefined) return known
  const found = FILTERS.check(ip, isIPv4(ip) ? 'ipv4' : 'ipv6')
  byAddress.set(ip, found)
  return found
}

function classifyUserAgent(type: 'open' | 'click', user_agent: string): Classified {
  if (type === 'open') {
    const proxy = PROXIES.find(([, pattern]) => pattern.test(user_agent))
    if (proxy) return { class: 'proxy', rule: proxy[0] }
    if (user_agent.trim() === APPLE) return { class: 'mpp', rule: 'apple_mpp' }
  }
  const program = MACHINES.find(([, pattern]) => pattern.test(user_agent))
  if (program) return machine(program[0])
  // isbot treats proxies of mail services as robots, which is right for clicks: people click with a browser.
  if (type === 'click' && isbot(user_agent)) return machine('isbot')
  return { class: 'human', rule: 'default' }
}

function machine(rule: string): Classified {
  return { class: 'machine', rule }
}
