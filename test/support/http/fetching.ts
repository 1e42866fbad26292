import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { parseNetworks } from '#lib/net/client_address.ts'
import { download, FetchError, type FetchPolicy, type FetchRequest } from '#lib/net/fetch_safely.ts'

/** All of 127.0.0.0/8 is this host: the one address that may be fetched from, and one that must never hear of it. */
export const ALLOWED = '127.0.0.3'
export const FORBIDDEN = '127.0.0.66'

/** Serves on `ALLOWED`; its port. */
export async function startServer(t: Test, answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, ALLOWED)
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Hands over each connection to `ALLOWED`, for what no HTTP server would say; its port. */
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

/** Some containers have no IPv6, not even for themselves. */
export const HAS_IPV6 = Object.values(networkInterfaces()).some(own => own?.some(({ address }) => address === '::1'))

/** Counts what arrives at 127.0.0.66 and ::1, on one port of both. */
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

/** A server that redirects to its query. */
export const startRedirector = (t: Test) =>
  startServer(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url as string, 'http://x')
    response.writeHead(Number(pathname.slice(1)), { location: encodeURI(searchParams.get('to') as string) }).end()
  })

/** Fetches from `ALLOWED` and public hosts, and resolves nothing unless told how. */
export function policyOf(ports: number[], policy: Partial<FetchPolicy> = {}): FetchPolicy {
  const resolve = async () => Promise.reject(new Error('no name is known here'))
  return { ports, allowed: parseNetworks(ALLOWED), resolve, ...policy }
}

/** The error of a fetch. What succeeds is an error here. */
export async function failureOf(fetched: Promise<unknown>): Promise<FetchError> {
  const outcome = await fetched.catch(error => error)
  if (outcome instanceof FetchError) return outcome
  throw outcome instanceof Error ? outcome : new Error('nothing failed')
}

/** Asks this port of `ALLOWED` and reads the whole body, of 1 MB at most. */
export async function readFrom(port: number, request: Partial<FetchRequest> = {}): Promise<Buffer> {
  const url = `http://${ALLOWED}:${port}/`
  const limits = { max_bytes: 1024 * 1024, deadline_ms: 20_000 }
  const { body } = await download({ url, ...limits, ...request }, policyOf([port]))
  return buffer(body)
}

/** What becomes of it where each connection is handed to `write` once it has asked. */
export async function failureAt(t: Test, write: (socket: Socket) => void, request: Partial<FetchRequest> = {}) {
  const port = await startTcpServer(t, socket => socket.once('data', () => write(socket)))
  return failureOf(readFrom(port, request))
}
