import type { IncomingHttpHeaders } from 'node:http'
import { boundedBody } from './body.ts'
import { type Client, clientOver, type Dispatcher, type HttpRequest, requestOver } from './client.ts'
import { Deadline } from './deadline.ts'
import { dial } from './dial.ts'
import { detailOf, refused, unreachable } from './error.ts'
import { type FetchPolicy, whyNotFetchable } from './policy.ts'

/** Servers that do not say how long they keep a connection close it after 5 s at the earliest. */
const IDLE_MS = 4_000
/** After the headers of an answer, which say what there is to know. */
const BODY_MS = 2_000

export type ShortRequest = HttpRequest & { max_bytes: number; deadline_ms: number; signal?: AbortSignal }

/** The beginning of the body, of `max_bytes` at most; null when it could not be read, or not in time. */
export type ShortAnswer = { status: number; headers: IncomingHttpHeaders; body: Buffer | null }

type Kept = { client: Client; timer: NodeJS.Timeout }

/**
 * `fetchSafely` for who asks the same servers again and again: a connection is kept for a few seconds for the next
 * request to its origin. Each was made to an address that was looked at then. Redirects are answers.
 */
export class Connections {
  readonly policy: FetchPolicy
  readonly #idle = new Map<string, Kept[]>()

  constructor(policy: FetchPolicy) {
    this.policy = policy
  }

  /** @throws {FetchError} when there is no answer; when it was aborted, the reason of the signal */
  async ask(request: ShortRequest): Promise<ShortAnswer> {
    const why = whyNotFetchable(request.url, this.policy)
    if (why) throw refused(`the URL ${why}`)
    const url = new URL(request.url)
    const deadline = new Deadline(request.deadline_ms, request.signal)
    try {
      const { client, response } = await this.#respond(url, request, deadline.signal)
      const body = await readBeginning(response, request.max_bytes)
      if (body && response.body.readableEnded) this.#keep(url.origin, client)
      else void client.destroy()
      return { status: response.statusCode, headers: response.headers, body }
    } catch (error) {
      request.signal?.throwIfAborted()
      throw unreachable(`${url.host}: ${detailOf(error)}`, error)
    } finally {
      deadline.clear()
    }
  }

  close(): void {
    for (const kept of this.#idle.values()) for (const { client } of kept) void client.destroy()
    this.#idle.clear()
  }

  /** A connection that was kept may have been closed at the moment it was used: then a new one is tried. */
  async #respond(url: URL, request: ShortRequest, signal: AbortSignal) {
    const kept = this.#take(url.origin)
    if (kept) {
      const response = await requestOver(kept, request, signal, false).catch(() => signal.throwIfAborted())
      if (response) return { client: kept, response }
    }
    const client = clientOver(await dial(url, this.policy, signal), url)
    return { client, response: await requestOver(client, request, signal, false) }
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

async function readBeginning(response: Dispatcher.ResponseData, max_bytes: number): Promise<Buffer | null> {
  const patience = new Deadline(BODY_MS)
  const giveUp = () => response.body.destroy(patience.signal.reason)
  patience.signal.addEventListener('abort', giveUp, { once: true })
  try {
    const chunks: Buffer[] = []
    const limits = { max_bytes, excess: 'cut' as const }
    for await (const chunk of boundedBody(response, limits, () => {})) chunks.push(chunk)
    return Buffer.concat(chunks)
  } catch {
    return null // what the status says holds without it
  } finally {
    patience.clear()
  }
}
