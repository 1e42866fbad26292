import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
// biome-ignore lint/style/noRestrictedImports: everything else that speaks HTTP comes through here.
import { Client, type Dispatcher } from 'undici'
import { type BodyLimits, boundedBody } from './fetch/body.ts'
import { Deadline } from './fetch/deadline.ts'
import { dial } from './fetch/dial.ts'
import { detailOf, FetchError, refused, unreachable } from './fetch/error.ts'
import { type FetchPolicy, whyNotFetchable } from './fetch/policy.ts'

export { FetchError } from './fetch/error.ts'
export {
  type AddressPolicy,
  type FetchPolicy,
  fetchPolicy,
  isFetchable,
  ownAddresses,
  whyNotFetchable,
} from './fetch/policy.ts'

export type FetchRequest = BodyLimits & {
  url: string
  /** Default GET. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH'
  headers?: Record<string, string>
  body?: string | Buffer
  /** From now to the last byte, redirects included. */
  deadline_ms: number
  /** Followed for GET only. Default 0: a redirect is the answer. */
  max_redirects?: number
}

export type Answer = {
  /** 200 to 599. */
  status: number
  headers: IncomingHttpHeaders
  /** The bytes as they come, to be read once; a slow reader slows the sender. Throws FetchError. */
  body: AsyncIterable<Buffer>
  /** For who does not read the body: else the connection stays until the deadline. */
  close(): void
}

/** What a redirect does not carry on: the next host is another one, and must not learn what was meant for the first. */
const HARMLESS = ['accept', 'user-agent']

const MAX_HEADER_BYTES = 16 * 1024

/**
 * Asks a URL that a stranger gave us, and answers whatever its server says, also 404. It reaches public hosts only, on
 * the ports of the policy; no cookies, no proxy, no connection is used twice.
 *
 * @throws {FetchError} when there is no answer; when it was aborted, the reason of the signal
 */
export async function fetchSafely(request: FetchRequest, policy: FetchPolicy): Promise<Answer> {
  const deadline = new Deadline(request.deadline_ms, request.signal)
  try {
    const { response, client } = await follow(request, policy, deadline.signal)
    const close = () => {
      deadline.clear()
      void client.destroy()
    }
    const { statusCode: status, headers } = response
    return { status, headers, body: boundedBody(response, request, close), close }
  } catch (error) {
    deadline.clear()
    request.signal?.throwIfAborted()
    throw error
  }
}

/**
 * The same for a file: every answer but 2xx is an error.
 *
 * @throws {FetchError} also for such an answer; 4xx is permanent but for 408, 425 and 429, which ask for patience
 */
export async function download(request: FetchRequest, policy: FetchPolicy): Promise<Answer> {
  const answer = await fetchSafely(request, policy)
  const { status } = answer
  if (status >= 200 && status < 300) return answer
  answer.close()
  const is_permanent = status < 500 && ![408, 425, 429].includes(status)
  throw new FetchError(`The URL answered ${status}.`, `${URL.parse(request.url)?.host} answered ${status}`, {
    is_permanent,
  })
}

type Hop = { response: Dispatcher.ResponseData; client: Client }

async function follow(request: FetchRequest, policy: FetchPolicy, signal: AbortSignal): Promise<Hop> {
  const most = request.max_redirects ?? 0
  let next = request
  for (let redirects = 0; ; redirects++) {
    const hop = await ask(next, policy, signal)
    const location = most > 0 ? locationOf(next, hop.response) : null
    if (location === null) return hop
    void hop.client.destroy()
    if (redirects === most) {
      throw new FetchError('The URL redirects too often.', `more than ${most} redirects`, { is_permanent: true })
    }
    const harmless = Object.entries(headersOf(next)).filter(([name]) => HARMLESS.includes(name))
    next = { ...next, url: location, headers: Object.fromEntries(harmless) }
  }
}

/** One hop, judged from the start. */
async function ask(request: FetchRequest, policy: FetchPolicy, signal: AbortSignal): Promise<Hop> {
  const why = whyNotFetchable(request.url, policy)
  if (why) throw refused(`the URL ${why}`)
  const url = new URL(request.url)
  const client = clientOver(await dial(url, policy, signal), url)
  // undici heeds the signal of a request only once it is being written.
  signal.addEventListener('abort', () => client.destroy(signal.reason), { once: true })
  try {
    const response = await client.request({
      path: url.pathname + url.search,
      method: request.method ?? 'GET',
      headers: headersOf(request),
      body: request.body ?? null,
      signal,
      reset: true, // no connection is kept
    })
    response.body.on('error', () => {}) // of a body that nobody reads
    return { response, client }
  } catch (error) {
    void client.destroy()
    throw unreachable(`${url.host}: ${detailOf(error)}`, error)
  }
}

function headersOf(request: FetchRequest): Record<string, string> {
  const given = Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
  return { 'user-agent': 'Mailbrook', ...Object.fromEntries(given), 'accept-encoding': 'identity' }
}

/** Speaks over this connection only. Its own timeouts are off: they start anew with each byte, the deadline does not. */
function clientOver(socket: Socket, url: URL): Client {
  let isUsed = false
  return new Client(url.origin, {
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
    connect: (_, callback) => {
      // Later, as every connection comes: undici does not notice one that is there at once.
      const isLost = isUsed
      isUsed = true
      queueMicrotask(() => (isLost ? callback(new Error('the connection was lost'), null) : callback(null, socket)))
    },
  })
}

function locationOf({ url, method = 'GET' }: FetchRequest, { statusCode, headers }: Hop['response']): string | null {
  const { location } = headers
  if (method !== 'GET' || ![301, 302, 303, 307, 308].includes(statusCode) || typeof location !== 'string') return null
  return URL.parse(location, url)?.href ?? location
}
