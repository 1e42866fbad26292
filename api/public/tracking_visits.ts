import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { addressOfRequest } from '#api/client_address.ts'
import type { WriteBehind } from '#lib/async/write_behind.ts'
import { now } from '#lib/clock.ts'
import type { Config } from '#lib/config.ts'
import { newId } from '#lib/ids.ts'
import type { TokenKeys } from '#lib/token_keys.ts'
import { classifyHit } from '#lib/tracking/classify.ts'
import { type FindScanner, openScannerNetworks } from '#lib/tracking/scanner_networks.ts'
import { parseRecipientToken, type TrackedLink, type TrackedRecipient } from '#lib/tracking/tracking_tokens.ts'
import type { TrackingHit } from '#sql/tracking/hits.ts'

/** Maximum characters of a User-Agent that are stored. */
const MAX_USER_AGENT = 500

/** Headers that browsers send when they prefetch. */
const PURPOSES = ['purpose', 'sec-purpose', 'x-moz', 'x-purpose']

/** A request that got its response. The token of a click, which identifies the recipient, is not parsed yet. */
type Visit = { request: IncomingMessage; ip: string | null; created_at: Date; seen: Opened | Clicked }
type Opened = { type: 'open'; recipient: TrackedRecipient }
type Clicked = { type: 'click'; link: TrackedLink; token: string; keys: TokenKeys }

type VisitsConfig = Pick<Config, 'TRUSTED_PROXIES' | 'ASN_DATABASE'>

/** Turns requests into hits, after their responses have been sent. */
export class Visits {
  readonly #hits: WriteBehind<TrackingHit>
  readonly #config: VisitsConfig
  readonly #findScanner: FindScanner
  #visits: Visit[] = []

  constructor(hits: WriteBehind<TrackingHit>, config: VisitsConfig) {
    this.#hits = hits
    this.#config = config
    this.#findScanner = openScannerNetworks(config.ASN_DATABASE)
  }

  open(request: IncomingMessage, recipient: TrackedRecipient): void {
    this.#add(request, { type: 'open', recipient })
  }

  click(request: IncomingMessage, link: TrackedLink, token: string, keys: TokenKeys): void {
    this.#add(request, { type: 'click', link, token, keys })
  }

  #add(request: IncomingMessage, seen: Visit['seen']): void {
    // Read now, since the address is gone once the client has disconnected.
    const ip = addressOfRequest(request, this.#config) || null
    if (this.#visits.push({ request, ip, created_at: now(), seen }) === 1) setImmediate(this.#record)
  }

  /** Records the visits of one turn of the event loop in the next turn. */
  readonly #record = (): void => {
    const visits = this.#visits
    this.#visits = []
    for (const visit of visits) {
      const hit = hitOf(visit, this.#findScanner)
      if (hit) this.#hits.add(hit)
    }
  }
}

function hitOf({ request, ip, created_at, seen }: Visit, findScanner: FindScanner): TrackingHit | null {
  const recipient = seen.type === 'open' ? seen.recipient : parseRecipientToken(seen.token, 'click', seen.keys)
  if (!recipient) return null
  const { method = '', headers } = request
  const user_agent = (headers['user-agent'] ?? '').slice(0, MAX_USER_AGENT)
  const classified = classifyHit({ type: seen.type, method, user_agent, purpose: purposeOf(headers), ip })
  const { account_id, delivery_id } = recipient
  const suspect = ip && findScanner(ip)
  const hit = {
    account_id,
    delivery_id,
    id: newId(),
    type: seen.type,
    ...classified,
    suspect,
    ip,
    user_agent,
    created_at,
  }
  return seen.type === 'open' ? hit : { ...hit, ...seen.link }
}

function purposeOf(headers: IncomingHttpHeaders): string {
  let purpose = ''
  for (const name of PURPOSES) {
    if (headers[name] !== undefined) purpose += ` ${headers[name]}`
  }
  return purpose
}
