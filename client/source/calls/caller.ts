import { clientError, MailbrookError } from '../error.ts'
import { VERSION } from '../generated/version.ts'
import { encodeBody } from './body.ts'
import { headersOf } from './headers.ts'
import type { BatchOptions, Input } from './options.ts'
import { isFile, readError, readJson, reasonOf } from './read_response.ts'
import { mayHaveTakenEffect, mayRetry, sleep, waitBefore } from './retries.ts'
import { encodeQuery, serverAddress } from './url.ts'

/** Options of the client. */
export type MailbrookOptions = {
  /** Default: MAILBROOK_API_KEY of the environment. */
  apiKey?: string | undefined
  /** Address of the server, such as `https://mail.acme.com`. Default: MAILBROOK_BASE_URL of the environment, or `http://localhost:3000`. */
  baseUrl?: string | undefined
  /** Milliseconds that each try may take. Default: 30,000. */
  timeout?: number | undefined
  /** How often a call is retried after a temporary failure. Default: 2. */
  retries?: number | undefined
  /** Headers added to all requests. */
  headers?: Record<string, string> | undefined
  /** Used in place of the global `fetch`. */
  fetch?: typeof fetch | undefined
}

type Request = { url: string; init: RequestInit & { headers: Headers }; key: string | undefined; timeout: number }
type Read<Answer> = (response: Response, key: string | undefined) => Promise<Answer>

/** The longest time of a timer: with a longer one, such as Infinity, it ends at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Sends requests, and retries them if that may help and cannot take effect twice. */
export class Caller {
  /** Address of the server. */
  readonly baseUrl: string
  readonly #options: MailbrookOptions & { apiKey: string }

  constructor(options: MailbrookOptions = {}) {
    const environment = (globalThis as { process?: { env?: Record<string, string> } }).process?.env ?? {}
    const apiKey = options.apiKey ?? environment.MAILBROOK_API_KEY
    if (!apiKey)
      throw clientError('An API key is needed: `new Mailbrook({ apiKey })`, or MAILBROOK_API_KEY in the environment.')
    const baseUrl = options.baseUrl ?? (environment.MAILBROOK_BASE_URL || 'http://localhost:3000')
    this.baseUrl = serverAddress(baseUrl)
    this.#options = { ...options, apiKey }
  }

  /** Returns the body of the response. */
  json<Answer>(method: string, path: string, input: Input, options?: BatchOptions): Promise<Answer> {
    return this.#send(method, path, input, options, async (...read) => (await readJson(...read)) as Answer)
  }

  /** Returns the body of the response, or the response itself if it is a file. */
  any<Answer>(method: string, path: string, input: Input, options?: BatchOptions): Promise<Answer> {
    const read = async (...[response, key]: Parameters<Read<Answer>>) =>
      (isFile(response) ? response : await readJson(response, key)) as Answer
    return this.#send(method, path, input, options, read)
  }

  /** Returns the response once its headers have arrived. Its body may take any time. */
  file(method: string, path: string, input: Input, options?: BatchOptions): Promise<Response> {
    return this.#send(method, path, input, options, async response => response)
  }

  async #send<Answer>(
    method: string,
    path: string,
    input: Input,
    options: BatchOptions = {},
    read: Read<Answer>,
  ): Promise<Answer> {
    const { signal, retries = this.#options.retries ?? 2 } = options
    const request = this.#request(method, path, input, options)
    const isRepeatable = method !== 'POST' || request.key !== undefined
    let isMaybeDone = false
    for (let retry = 0; ; retry++) {
      try {
        return await this.#try(request, signal, read)
      } catch (error) {
        // An earlier try of this call has removed the record, or it never existed: either way it is gone, as the caller wants.
        if (input.removes && isMaybeDone && MailbrookError.is(error, 'not_found'))
          return { ...input.removes, deleted: true } as Answer
        isMaybeDone ||= error instanceof MailbrookError && mayHaveTakenEffect(error)
        const wait =
          error instanceof MailbrookError && retry < retries && mayRetry(error, isRepeatable)
            ? waitBefore(error, retry)
            : null
        if (wait === null) throw error
        await sleep(wait, signal)
      }
    }
  }

  #request(method: string, path: string, { body, query, keyed }: Input, options: BatchOptions): Request {
    const { apiKey, timeout = 30_000 } = this.#options
    const encoded = body === undefined ? null : encodeBody(body)
    const key = keyed ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined
    const headers = headersOf({
      ...{ 'user-agent': `mailbrook/${VERSION}`, ...this.#options.headers, ...options.headers },
      authorization: `Bearer ${apiKey}`,
      ...(encoded?.content_type ? { 'content-type': encoded.content_type } : {}),
      ...(options.validation ? { 'x-batch-validation': options.validation } : {}),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    })
    const values = encodeQuery(query)
    return {
      url: `${this.baseUrl}/api${path}${path.includes('?') ? values.replace('?', '&') : values}`,
      // Redirects are not followed, since a POST would become a GET.
      init: { method, headers, body: encoded?.body ?? null, redirect: 'manual' },
      key,
      timeout: options.timeout ?? timeout,
    }
  }

  /** Sends the request once. The timeout includes the time of `read`. */
  async #try<Answer>(
    { url, init, key, timeout }: Request,
    signal: AbortSignal | undefined,
    read: Read<Answer>,
  ): Promise<Answer> {
    signal?.throwIfAborted()
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), Math.min(timeout, LONGEST_TIMER_MS))
    const { fetch = globalThis.fetch } = this.#options
    try {
      const response = await fetch(url, {
        ...init,
        signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
      })
      if (!response.ok) throw await readError(response, key)
      return await read(response, key)
    } catch (error) {
      if (error instanceof MailbrookError) throw error
      signal?.throwIfAborted()
      const message = limit.signal.aborted
        ? `No response within ${timeout} ms.`
        : `The request failed: ${reasonOf(error)}`
      throw new MailbrookError(0, 'network_error', message, {
        cause: error,
        ...(key === undefined ? {} : { idempotencyKey: key }),
      })
    } finally {
      clearTimeout(timer)
    }
  }
}
