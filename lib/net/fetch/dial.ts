import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Deadline } from './deadline.ts'
import { detailOf, refused, unreachable } from './error.ts'
import { type FetchPolicy, hostOf, isAllowedAddress, portOf } from './policy.ts'

/** Limit per address, since a host may not really listen on all of its addresses. */
const ADDRESS_MS = 5_000

/**
 * Connects to the host of a URL; for `https:` with TLS that proves the host's name. All of its addresses must be allowed, and the
 * connection goes to one of the checked addresses, so a name that resolves differently a moment later has no effect.
 *
 * @throws {FetchError} with the same message whether the host is not allowed or unreachable
 */
export async function dial(url: URL, policy: FetchPolicy, signal: AbortSignal): Promise<Socket> {
  const host = hostOf(url)
  const addresses = isIP(host) ? [host] : await resolve(host, policy, signal)
  const forbidden = addresses.find(address => !isAllowedAddress(address, policy))
  if (forbidden !== undefined) throw refused(`${host} is at ${forbidden}, which is not allowed`)

  try {
    const socket = await connectToAny(addresses, portOf(url), signal)
    return url.protocol === 'https:' ? await secure(socket, host, signal) : socket
  } catch (error) {
    throw unreachable(`${url.host}: ${detailOf(error)}`, error)
  }
}

async function resolve(host: string, policy: FetchPolicy, signal: AbortSignal): Promise<string[]> {
  try {
    return await policy.resolve(host, signal)
  } catch (error) {
    throw unreachable(`${host} does not resolve: ${detailOf(error)}`, error)
  }
}

async function connectToAny(addresses: string[], port: number, signal: AbortSignal): Promise<Socket> {
  let failure: unknown = new Error('it has no address')
  for (const address of addresses) {
    const patience = new Deadline(ADDRESS_MS, signal)
    try {
      return await opened(connect({ host: address, port, noDelay: true }), 'connect', patience.signal)
    } catch (error) {
      failure = error
      signal.throwIfAborted()
    } finally {
      patience.clear()
    }
  }
  throw failure
}

/** Verifies certificates whatever NODE_TLS_REJECT_UNAUTHORIZED says. */
async function secure(socket: Socket, host: string, signal: AbortSignal): Promise<Socket> {
  const servername = isIP(host) ? '' : host // SNI allows names only (RFC 6066 section 3)
  const tls = connectTls({ socket, host, servername, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] })
  return opened(tls, 'secureConnect', signal)
}

async function opened(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<Socket> {
  // Before and after others listen: an unhandled error event would end the process.
  socket.on('error', () => {})
  try {
    await once(socket, event, { signal })
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}
