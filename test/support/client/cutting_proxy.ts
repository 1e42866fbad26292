import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { ALLOWED, startTcpServer } from '#test/support/http/fetching.ts'

/** Where a connection is cut: before the server gets the request, during the request or the response, or before its first byte. */
export type Cut = 'before' | 'in the request' | 'before the response' | 'in the response'

export type CuttingProxy = {
  url: string
  /** Cuts the next connections at these points, in order. */
  cut(...cuts: Cut[]): void
  /** The number of connections so far. */
  connections(): number
}

/** Bytes of a response that pass before it is cut: not even all of its headers. */
const SHORT = 40

/** A proxy to the server at `url` with a connection per request, which cuts connections on demand. */
export async function startCuttingProxy(t: Test, url: string): Promise<CuttingProxy> {
  const cuts: Cut[] = []
  let count = 0
  const { hostname, port } = new URL(url)
  const own = await startTcpServer(t, socket => {
    count++
    const cut = cuts.shift()
    if (cut === 'before') socket.once('data', () => socket.resetAndDestroy())
    else pass(socket, connect({ host: hostname, port: Number(port) }), cut)
  })
  return { url: `http://${ALLOWED}:${own}`, cut: (...more) => cuts.push(...more), connections: () => count }
}

function pass(socket: Socket, server: Socket, cut: Cut | undefined): void {
  server.on('error', () => socket.destroy())
  server.on('close', () => socket.end())
  socket.on('close', () => server.destroy())
  socket.on('data', (data: Buffer) => {
    if (cut !== 'in the request') return server.write(data)
    server.write(data.subarray(0, -1))
    setImmediate(() => socket.resetAndDestroy())
  })
  server.on('data', (data: Buffer) => {
    if (cut === 'before the response') return socket.resetAndDestroy()
    if (cut !== 'in the response') return socket.write(data)
    socket.write(data.subarray(0, SHORT), () => socket.destroy())
  })
}
