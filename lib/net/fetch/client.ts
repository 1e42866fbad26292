import type { Socket } from 'node:net'
// biome-ignore lint/style/noRestrictedImports: its types.
import type { Client, Dispatcher } from 'undici'

export type { Client, Dispatcher }

export type HttpRequest = {
  url: string
  /** Default GET. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH'
  headers?: Record<string, string>
  body?: string | Buffer
}

const MAX_HEADER_BYTES = 16 * 1024

/**
 * Connects, and sends requests over this connection only. undici's timeouts are off: they restart with each byte, while a
 * deadline does not.
 */
export async function connectClient(dial: () => Promise<Socket>, url: URL): Promise<Client> {
  // Loaded on first use: loading undici takes a tenth of the start of a process, and most processes never use HTTP. It comes
  // before `dial`, since nothing listens to the socket yet.
  // biome-ignore lint/style/noRestrictedImports: everything else that uses HTTP comes through here.
  const { Client } = await import('undici')
  const socket = await dial()
  let isUsed = false
  return new Client(url.origin, {
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
    connect: (_, callback) => {
      // In a microtask, since undici does not notice a connection that is there at once.
      const isLost = isUsed
      isUsed = true
      queueMicrotask(() => (isLost ? callback(new Error('the connection was lost'), null) : callback(null, socket)))
    },
  })
}

/** Resolves to the response once its headers have arrived. `reset`: the connection is not reused. Any failure closes it. */
export async function requestOver(
  client: Client,
  request: HttpRequest,
  signal: AbortSignal,
  reset: boolean,
): Promise<Dispatcher.ResponseData> {
  const { pathname, search } = new URL(request.url)
  // undici observes the signal of a request only once the request is being written.
  signal.addEventListener('abort', () => client.destroy(signal.reason), { once: true })
  try {
    const response = await client.request({
      path: pathname + search,
      method: request.method ?? 'GET',
      headers: headersOf(request),
      body: request.body ?? null,
      signal,
      reset,
    })
    response.body.on('error', () => {}) // errors of a body that nobody reads
    return response
  } catch (error) {
    void client.destroy()
    throw error
  }
}

/** Returns the headers in lower case. They do not ask for compression: see `boundedBody`. */
export function headersOf(request: HttpRequest): Record<string, string> {
  const given = Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
  return { 'user-agent': 'Mailbrook', ...Object.fromEntries(given), 'accept-encoding': 'identity' }
}
