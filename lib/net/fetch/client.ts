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
 * Dials, and speaks over this connection only. Its own timeouts are off: they start anew with each byte, a deadline does not.
 */
export async function connectClient(dial: () => Promise<Socket>, url: URL): Promise<Client> {
  // To read undici takes a tenth of the start of a process, and most never speak HTTP. First, for nobody hears the socket yet.
  // biome-ignore lint/style/noRestrictedImports: everything else that speaks HTTP comes through here.
  const { Client } = await import('undici')
  const socket = await dial()
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

/** The answer as soon as its headers are there. `reset`: the connection is not to be kept. Whatever fails ends it. */
export async function requestOver(
  client: Client,
  request: HttpRequest,
  signal: AbortSignal,
  reset: boolean,
): Promise<Dispatcher.ResponseData> {
  const { pathname, search } = new URL(request.url)
  // undici heeds the signal of a request only once it is being written.
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
    response.body.on('error', () => {}) // of a body that nobody reads
    return response
  } catch (error) {
    void client.destroy()
    throw error
  }
}

/** In lower case. No compressed answer is asked for: see `boundedBody`. */
export function headersOf(request: HttpRequest): Record<string, string> {
  const given = Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
  return { 'user-agent': 'Mailbrook', ...Object.fromEntries(given), 'accept-encoding': 'identity' }
}
