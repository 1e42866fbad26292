import { type Client, connectClient } from './client.ts'
import { Deadline } from './deadline.ts'
import { dial } from './dial.ts'
import { FetchError, refused, unanswered } from './error.ts'
import { type FetchPolicy, findUrlFault } from './policy.ts'
import { type ShortRequest, type ShortResponse, sendShortRequest } from './short_request.ts'

/** Most servers that do not say how long they keep a connection keep it for at least 5 s. */
const IDLE_MS = 4_000

type Kept = { client: Client; timer: NodeJS.Timeout }

/**
 * As `fetchSafely`, for repeated requests to the same servers, of whose responses little is needed. A connection is kept for a few
 * seconds for the next request to its origin; its address was checked when it was opened. A redirect is returned as a response.
 */
export class Connections {
  readonly policy: FetchPolicy
  readonly #idle = new Map<string, Kept[]>()
  readonly #busy = new Set<Client>()
  readonly #closing = new AbortController()

  constructor(policy: FetchPolicy) {
    this.policy = policy
  }

  /** @throws {FetchError} if there is no response. Another error if `close` was called meanwhile */
  async ask(request: ShortRequest): Promise<ShortResponse> {
    const url = URL.parse(request.url)
    if (!url) throw refused('the URL is invalid')
    const ends_at = performance.now() + request.deadline_ms
    const kept = this.#take(url.origin)
    // The server may have closed a kept connection at that moment: then a new one is tried.
    const answer = kept && (await this.#askOver(kept, url, request).catch(() => null))
    if (answer) return answer
    const left_ms = ends_at - performance.now()
    if (left_ms <= 0) throw unanswered(url.host, new DOMException('no response in time', 'TimeoutError'))
    return this.#askAnew(url, { ...request, deadline_ms: left_ms })
  }

  /** Closes all connections, including those in use. */
  close(): void {
    this.#closing.abort(new Error('the connections were closed'))
    for (const { client } of [...this.#idle.values()].flat()) void client.destroy()
    for (const client of this.#busy) void client.destroy()
    this.#idle.clear()
  }

  async #askAnew(url: URL, request: ShortRequest): Promise<ShortResponse> {
    const why = findUrlFault(url.href, this.policy)
    if (why) throw refused(`the URL ${why}`)
    const ends_at = performance.now() + request.deadline_ms
    const deadline = new Deadline(request.deadline_ms, this.#closing.signal)
    try {
      const client = await connectClient(() => dial(url, this.policy, deadline.signal), url)
      return await this.#askOver(client, url, { ...request, deadline_ms: ends_at - performance.now() })
    } catch (error) {
      this.#closing.signal.throwIfAborted()
      throw error instanceof FetchError ? error : unanswered(url.host, error)
    } finally {
      deadline.clear()
    }
  }

  async #askOver(client: Client, url: URL, request: ShortRequest): Promise<ShortResponse> {
    this.#busy.add(client)
    let isWhole = false
    try {
      const answer = await sendShortRequest(client, url, request)
      isWhole = answer.isWhole
      return answer
    } finally {
      this.#busy.delete(client)
      if (isWhole && !this.#closing.signal.aborted) this.#keep(url.origin, client)
      // Waits for the end, so that a caller with two requests at a time never has three connections.
      else await client.destroy()
    }
  }

  #take(origin: string): Client | undefined {
    const idle = this.#idle.get(origin)
    const last = idle?.pop()
    if (idle?.length === 0) this.#idle.delete(origin)
    clearTimeout(last?.timer)
    return last?.client
  }

  #keep(origin: string, client: Client): void {
    const timer = setTimeout(() => this.#drop(origin, client), IDLE_MS).unref()
    const idle = this.#idle.get(origin)
    if (idle) idle.push({ client, timer })
    else this.#idle.set(origin, [{ client, timer }])
  }

  #drop(origin: string, client: Client): void {
    const left = this.#idle.get(origin)?.filter(kept => kept.client !== client) ?? []
    if (left.length > 0) this.#idle.set(origin, left)
    else this.#idle.delete(origin)
    void client.destroy()
  }
}
