import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { parseNetworks } from '#lib/net/client_address.ts'
import { download, FetchError, type FetchPolicy, type FetchRequest } from '#lib/net/fetch_safely.ts'

/** All of 127.0.0.0/8 is this host: one address that may be fetched from, and one that must never be connected to. */
export const ALLOWED = '127.0.0.3'
export const FORBIDDEN = '127.0.0.66'

/** Starts an HTTP server on `ALLOWED`; returns its port. */
export async function startServer(t: Test, answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, ALLOWED)
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Passes each connection to `ALLOWED` to a function, for responses that no HTTP server sends; returns the port. */
export async function startTcpServer(t: Pick<Test, 'teardown'>, onSocket: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createTcpServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    onSocket(socket)
  }).listen(0, ALLOWED)
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Some containers have no IPv6, not even a loopback address. */
export const HAS_IPV6 = Object.values(networkInterfaces()).some(own => own?.some(({ address }) => address === '::1'))

/** Counts connections to 127.0.0.66 and ::1, on the same port. */
export async function startForbidden(t: Pick<Test, 'teardown'>): Promise<{ port: number; heard: () => number }> {
  let heard = 0
  const listen = async (address: string, port: number) => {
    const server = createTcpServer(socket => {
      heard++
      socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    }).listen(port, address)
    await once(server, 'listening')
    t.teardown(() => server.close())
    return (server.address() as AddressInfo).port
  }
  const port = await listen(FORBIDDEN, 0)
  if (HAS_IPV6) await listen('::1', port)
  return { port, heard: () => heard }
}

/** A server that redirects to the URL in the query. */
export const startRedirector = (t: Test) =>
  startServer(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url as string, 'http://x')
    response.writeHead(Number(pathname.slice(1)), { location: encodeURI(searchParams.get('to') as string) }).end()
  })

/** Allows `ALLOWED` and public hosts, and resolves no names by default. */
export function policyOf(ports: number[], policy: Partial<FetchPolicy> = {}): FetchPolicy {
  const resolve = async () => Promise.reject(new Error('no name is known here'))
  return { ports, allowed: parseNetworks(ALLOWED), resolve, ...policy }
}

/** Returns the error of a fetch; throws if it succeeds. */
export async function failureOf(fetched: Promise<unknown>): Promise<FetchError> {
  const outcome = await fetched.catch(error => error)
  if (outcome instanceof FetchError) return outcome
  throw outcome instanceof Error ? outcome : new Error('nothing failed')
}

/** Reads a whole body of at most 1 MB from this port of `ALLOWED`. */
export async function readFrom(port: number, request: Partial<FetchRequest> = {}): Promise<Buffer> {
  const url = `http://${ALLOWED}:${port}/`
  const limits = { max_bytes: 1024 * 1024, deadline_ms: 20_000 }
  const { body } = await download({ url, ...limits, ...request }, policyOf([port]))
  return buffer(body)
}

/** Returns the error of a fetch from a server that passes each connection to `write` after its request. */
export async function failureAt(t: Test, write: (socket: Socket) => void, request: Partial<FetchRequest> = {}) {
  const port = await startTcpServer(t, socket => socket.once('data', () => write(socket)))
  return failureOf(readFrom(port, request))
}
