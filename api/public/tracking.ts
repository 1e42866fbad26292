import { LRUCache } from 'lru-cache'
import { clientAddress } from '#api/client_address.ts'
import type { Context, Middleware } from '#api/context.ts'
import type { ReadTokenKeys } from '#flows/process/token_keys.ts'
import type { WriteBehind } from '#lib/async/write_behind.ts'
import { now } from '#lib/clock.ts'
import { newId } from '#lib/ids.ts'
import type { TokenKeys } from '#lib/token_keys.ts'
import { classifyHit } from '#lib/tracking/classify.ts'
import { parseLinkToken, parseRecipientToken, type TrackedLink } from '#lib/tracking/tracking_tokens.ts'
import type { TrackingHit } from '#sql/tracking/hits.ts'
import { showBadLink, showError } from './error_pages.ts'

const PREFIX = '/t/'
const PIXEL_PATH = /^\/t\/o\/([\w-]+)\.gif$/
const CLICK_PATH = /^\/t\/c\/([\w-]+)\/([^/]*)$/

/** One transparent point: GIF89a. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64')

/** Characters of a User-Agent that are kept. */
const MAX_USER_AGENT = 500

/** By which browsers say that they fetch in advance. */
const PURPOSES = ['purpose', 'sec-purpose', 'x-moz', 'x-purpose']

/** Links that were verified: all recipients of a campaign have the same. In characters. */
const KEPT_LINKS = 4 << 20

type Destination = { link: TrackedLink; location: string }

/**
 * Pixels and redirects of tracked emails. They are answered before anything is written and without the database: links work
 * while it is away. What of a hit is a person's is decided later, on the way to the database.
 */
export function trackingPages(readTokenKeys: ReadTokenKeys, hits: WriteBehind<TrackingHit>): Middleware {
  const findDestination = createFindDestination()
  // Known before the first request: Postgres may be away by then.
  readTokenKeys().catch(() => {})
  return async (ctx, next) => {
    if (!ctx.path.startsWith(PREFIX) || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    try {
      const keys = await readTokenKeys()
      if (!servePixel(ctx, keys, hits) && !redirect(ctx, keys, hits, findDestination)) showBadLink(ctx)
    } catch (error) {
      showError(ctx, error, PREFIX)
    }
  }
}

/** Returns false for what is no pixel of ours. */
function servePixel(ctx: Context, keys: TokenKeys, hits: WriteBehind<TrackingHit>): boolean {
  const [, token] = PIXEL_PATH.exec(ctx.path) ?? []
  const recipient = token === undefined ? null : parseRecipientToken(token, 'open', keys)
  if (!recipient) return false
  recordLater(ctx, hits, () => ({ ...recipient, type: 'open' }))
  setUncached(ctx)
  ctx.type = 'gif'
  ctx.body = PIXEL
  return true
}

/** A recipient that is none keeps nobody from where the link leads, and counts for nothing. */
function redirect(
  ctx: Context,
  keys: TokenKeys,
  hits: WriteBehind<TrackingHit>,
  findDestination: (token: string, keys: TokenKeys) => Destination | null,
): boolean {
  const [, token, recipient_token = ''] = CLICK_PATH.exec(ctx.path) ?? []
  const found = token === undefined ? null : findDestination(token, keys)
  if (!found) return false
  recordLater(ctx, hits, () => {
    const recipient = parseRecipientToken(recipient_token, 'click', keys)
    return recipient && { ...recipient, ...found.link, type: 'click' }
  })
  setUncached(ctx)
  ctx.set('location', found.location)
  ctx.set('referrer-policy', 'no-referrer-when-downgrade')
  ctx.status = 302
  ctx.body = ''
  return true
}

function createFindDestination(): (token: string, keys: TokenKeys) => Destination | null {
  const known = new LRUCache<string, Destination>({
    maxSize: KEPT_LINKS,
    sizeCalculation: ({ location }, token) => token.length + 2 * location.length,
  })
  return (token, keys) => {
    const found = known.get(token) ?? verify(token, keys)
    if (found) known.set(token, found)
    return found
  }
}

function verify(token: string, keys: TokenKeys): Destination | null {
  const link = parseLinkToken(token, keys)
  const url = link && URL.parse(link.url)
  return url && /^https?:$/.test(url.protocol) ? { link, location: url.href } : null
}

type Seen = Pick<TrackingHit, 'account_id' | 'delivery_id' | 'type' | 'source_id' | 'link' | 'url'>

/** Once the answer is on its way; Koa writes it before the next turn of the event loop. */
function recordLater(ctx: Context, hits: WriteBehind<TrackingHit>, see: () => Seen | null): void {
  const created_at = now()
  // Nothing is left of them once the client has gone away.
  const ip = clientAddress(ctx) || null
  setImmediate(() => {
    const seen = see()
    if (!seen) return
    const { headers } = ctx.req
    const user_agent = (headers['user-agent'] ?? '').slice(0, MAX_USER_AGENT)
    const purpose = PURPOSES.map(name => headers[name] ?? '').join(' ')
    const classified = classifyHit({ type: seen.type, method: ctx.method, user_agent, purpose, ip })
    hits.add({ ...seen, ...classified, id: newId(), ip, user_agent, created_at })
  })
}

function setUncached(ctx: Context): void {
  ctx.set({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex' })
}
