import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { Sink, SinkOptions } from '#test/faults/support/sink.ts'
import { FORBIDDEN, HAS_IPV6 } from '#test/support/http/fetching.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import type { Zone } from './name_server.ts'

/** The networks in 127.0.0.0/8 to which mail may go, for MX_ALLOW. 127.0.0.66 and ::1 are not among them. */
export const MAIL_HOSTS = '127.0.0.64/31,127.0.0.68/30,127.0.0.72/29'

/** Mail servers of others, all on one port. */
export type MailHosts = {
  port: number
  /** Starts a separate server on `127.0.0.N`. */
  start(n: number, options?: SinkOptions): Promise<Sink>
  /** The number of connections to 127.0.0.66 and ::1, where no mail may go. */
  heard: () => number
}

export async function openMailHosts(t: Test): Promise<MailHosts> {
  let heard = 0
  const listen = async (address: string, port: number): Promise<number> => {
    const server = createServer((socket: Socket) => {
      heard++
      socket.destroy()
    }).listen(port, address)
    await once(server, 'listening')
    t.teardown(() => server.close())
    return (server.address() as AddressInfo).port
  }
  const port = await listen(FORBIDDEN, 0)
  if (HAS_IPV6) await listen('::1', port)
  return {
    port,
    heard: () => heard,
    start: (n, options = {}) => openSink(t, { host: `127.0.0.${n}`, port, ...options }),
  }
}

/** Publishes one mail server for a domain, `mx.DOMAIN` on `127.0.0.N`. */
export function publishMx(zone: Zone, domain: string, n: number): void {
  zone[domain] = { MX: [`10 mx.${domain}`] }
  zone[`mx.${domain}`] = { A: [`127.0.0.${n}`] }
}
