import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Middleware } from '#api/context.ts'
import type { ReadTokenKeys } from '#flows/process/token_keys.ts'
import type { TokenKeys } from '#lib/token_keys.ts'
import { parseLinkToken, parseRecipientToken, type TrackedLink } from '#lib/tracking/tracking_tokens.ts'
import { showBadLink, showError } from './error_pages.ts'
import type { Visits } from './tracking_visits.ts'

const PREFIX = '/t/'
const PIXEL = { before: '/t/o/', after: '.gif' }
const LINK = '/t/c/'

/** One transparent pixel (GIF89a). */
const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64')

/** Names and values alternate, as in the arrays that `writeHead` takes. */
const UNCACHED = ['cache-control', 'no-store', 'x-robots-tag', 'noindex']
const GIF_HEADERS = [...UNCACHED, 'content-type', 'image/gif', 'content-length', `${GIF.length}`]
const REDIRECT_HEADERS = [...UNCACHED, 'referrer-policy', 'no-referrer-when-downgrade', 'content-length', '0']

/** Maximum characters of the cache of verified links. All recipients of a campaign have the same links. */
const KEPT_LINKS = 4 << 20

/** The keys are read again after this time, and not for every request. */
const KEYS_MS = 1_000

type Destination = { link: TrackedLink; headers: string[] }
type Options = { readTokenKeys: ReadTokenKeys; visits: Visits; readiness: { isStopping: boolean } }

/**
 * Pixels and redirects of tracked emails. The response is sent before anything is written and without the database, so that
 * links work while it is not available. Whether a hit came from a person is decided later, before it is stored.
 */
export class TrackingPages {
  readonly #options: Options
  readonly #destinations = new LRUCache<string, Destination>({
    maxSize: KEPT_LINKS,
    sizeCalculation: ({ headers }, token) => token.length + headers.length + 2 * (headers.at(-1) as string).length,
  })
  #keys: TokenKeys | null = null
  #keys_read_at = Number.NEGATIVE_INFINITY

  constructor(options: Options) {
    this.#options = options
    // Read before the first request, since Postgres may not be available then.
    this.#readKeys()
  }

  /**
   * Responds to requests for our pixels and links without Koa, which would be most of the cost of such a request. Returns false
   * for all other requests, which Koa handles.
   */
  answer(request: IncomingMessage, response: ServerResponse): boolean {
    const { url = '' } = request
    if (!url.startsWith(PREFIX)) return false
    if (performance.now() > this.#keys_read_at + KEYS_MS) this.#readKeys()
    const query = url.indexOf('?')
    try {
      return this.#answer(query < 0 ? url : url.slice(0, query), request, response, this.#keys)
    } catch {
      return false // the same error is thrown and reported in the middleware
    }
  }

  /** Responds to the requests under this prefix that `answer` left. */
  readonly middleware: Middleware = async (ctx, next) => {
    if (!ctx.path.startsWith(PREFIX) || !isRead(ctx.method)) return next()
    try {
      if (this.#answer(ctx.path, ctx.req, ctx.res, await this.#options.readTokenKeys())) ctx.respond = false
      else showBadLink(ctx)
    } catch (error) {
      showError(ctx, error, PREFIX)
    }
  }

  #readKeys(): void {
    this.#keys_read_at = performance.now()
    this.#options.readTokenKeys().then(
      keys => {
        this.#keys = keys
      },
      () => {}, // Without keys, each request goes to the middleware, which reads them again and reports the error.
    )
  }

  #answer(path: string, request: IncomingMessage, response: ServerResponse, keys: TokenKeys | null): boolean {
    if (!keys || !isRead(request.method)) return false
    if (path.startsWith(LINK)) return this.#redirect(path, request, response, keys)
    if (!path.startsWith(PIXEL.before) || !path.endsWith(PIXEL.after)) return false
    const token = path.slice(PIXEL.before.length, -PIXEL.after.length)
    const recipient = parseRecipientToken(token, 'open', keys)
    if (!recipient) return false
    this.#options.visits.open(request, recipient)
    response.writeHead(200, this.#closing(GIF_HEADERS)).end(GIF)
    return true
  }

  /** Redirects to the destination of a link, even if the token of the recipient is invalid; such a click is not counted. */
  #redirect(path: string, request: IncomingMessage, response: ServerResponse, keys: TokenKeys): boolean {
    const slash = path.indexOf('/', LINK.length)
    if (slash < 0 || path.includes('/', slash + 1)) return false
    const found = this.#findDestination(path.slice(LINK.length, slash), keys)
    if (!found) return false
    this.#options.visits.click(request, found.link, path.slice(slash + 1), keys)
    response.writeHead(302, this.#closing(found.headers)).end()
    return true
  }

  #findDestination(token: string, keys: TokenKeys): Destination | null {
    const known = this.#destinations.get(token)
    if (known) return known
    const link = parseLinkToken(token, keys)
    const url = link && URL.parse(link.url)
    if (!url || !/^https?:$/.test(url.protocol)) return null
    const destination = { link, headers: [...REDIRECT_HEADERS, 'location', url.href] }
    this.#destinations.set(token, destination)
    return destination
  }

  /** Announces the end of a keep-alive connection: closing it unannounced could reset a request that was just sent. */
  #closing(headers: string[]): string[] {
    return this.#options.readiness.isStopping ? ['connection', 'close', ...headers] : headers
  }
}

function isRead(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD'
}
