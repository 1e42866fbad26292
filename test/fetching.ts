import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { parseNetworks } from '../lib/client_address.ts'
import { FetchError, type FetchPolicy } from '../lib/fetch_safely.ts'

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
export async function startTcpServer(t: Test, onSocket: (socket: Socket) => void): Promise<number> {
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
