import type { IncomingHttpHeaders } from 'node:http'
import { type BodyLimits, boundedBody } from '#lib/net/fetch/body.ts'
import {
  type Client,
  connectClient,
  type Dispatcher,
  type HttpRequest,
  headersOf,
  requestOver,
} from '#lib/net/fetch/client.ts'
import { Deadline } from '#lib/net/fetch/deadline.ts'
import { dial } from '#lib/net/fetch/dial.ts'
import { FetchError, refused, unanswered } from '#lib/net/fetch/error.ts'
import { type FetchPolicy, findUrlFault } from '#lib/net/fetch/policy.ts'

export { FetchError } from '#lib/net/fetch/error.ts'
export {
  type AddressPolicy,
  type FetchPolicy,
  fetchPolicy,
  findUrlFault,
  isAllowedAddress,
  ownAddresses,
} from '#lib/net/fetch/policy.ts'

export type FetchRequest = HttpRequest &
  BodyLimits & {
    /** From now to the last byte, redirects included. */
    deadline_ms: number
    /** Maximum number of redirects, which are followed for GET only. Default 0: a redirect is returned like any other response. */
    max_redirects?: number
  }

export type Answer = {
  /** 200 to 599. */
  status: number
  headers: IncomingHttpHeaders
  /** The bytes as they arrive, to be read once; a slow reader slows the sender. Throws FetchError. */
  body: AsyncIterable<Buffer>
  /** Call this if the body is not read, or the connection stays open until the deadline. */
  close(): void
}

/** Headers that are kept on a redirect: the next host is a different one and must not see credentials for the first. */
const HARMLESS = ['accept', 'user-agent']

/**
 * Fetches a URL that a user gave us, and returns any response, including 404. It connects to public hosts only, on the ports of
 * the policy, without cookies, a proxy or reused connections.
 *
 * @throws {FetchError} if there is no response; the reason of the signal if it was aborted
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
 * As `fetchSafely`, for a file: any status other than 2xx is an error.
 *
 * @throws {FetchError} also for such a status. 4xx is permanent, except for 408, 425 and 429, which ask to retry later
 */
export async function download(request: FetchRequest, policy: FetchPolicy): Promise<Answer> {
  const answer = await fetchSafely(request, policy)
  const { status } = answer
  if (status >= 200 && status < 300) return answer
  answer.close()
  const is_permanent = status < 500 && ![408, 425, 429].includes(status)
  const detail = `${URL.parse(request.url)?.host} responded with ${status}`
  throw new FetchError(`The URL responded with ${status}.`, detail, { is_permanent })
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

/** Sends one request, with all checks. */
async function ask(request: FetchRequest, policy: FetchPolicy, signal: AbortSignal): Promise<Hop> {
  const why = findUrlFault(request.url, policy)
  if (why) throw refused(`the URL ${why}`)
  const url = new URL(request.url)
  const client = await connectClient(() => dial(url, policy, signal), url)
  try {
    return { response: await requestOver(client, request, signal, true), client }
  } catch (error) {
    throw unanswered(url.host, error)
  }
}

function locationOf({ url, method = 'GET' }: FetchRequest, { statusCode, headers }: Hop['response']): string | null {
  const { location } = headers
  if (method !== 'GET' || ![301, 302, 303, 307, 308].includes(statusCode) || typeof location !== 'string') return null
  return URL.parse(location, url)?.href ?? location
}
