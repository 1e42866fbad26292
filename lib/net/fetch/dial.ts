import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Deadline } from './deadline.ts'
import { detailOf, refused, unreachable } from './error.ts'
import { type FetchPolicy, hostOf, isFetchable, portOf } from './policy.ts'

/** For one address, since a host may not really serve all that it has. */
const ADDRESS_MS = 5_000

/**
 * A connection to the host of a URL, for `https:` with TLS that proves its name. Each of its addresses must be allowed,
 * and it goes to one of those very addresses: a name that resolves to something else a moment later gains nothing.
 *
 * @throws {FetchError} always the same to the caller, whether it is not allowed or not there
 */
export async function dial(url: URL, policy: FetchPolicy, signal: AbortSignal): Promise<Socket> {
  const host = hostOf(url)
  const addresses = isIP(host) ? [host] : await resolve(host, policy, signal)
  const forbidden = addresses.find(address => !isFetchable(address, policy))
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

/** Certificates are verified whatever NODE_TLS_REJECT_UNAUTHORIZED says. */
async function secure(socket: Socket, host: string, signal: AbortSignal): Promise<Socket> {
  const servername = isIP(host) ? '' : host // SNI knows names only (RFC 6066 section 3)
  const tls = connectTls({ socket, host, servername, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] })
  return opened(tls, 'secureConnect', signal)
}

async function opened(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<Socket> {
  // Until somebody else listens, and after: an unheard error event would end the process.
  socket.on('error', () => {})
  try {
    await once(socket, event, { signal })
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}
