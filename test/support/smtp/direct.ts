import { once } from 'node:events'
import { createServer } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { createMtaSts, type StsOptions, type StsPolicy } from '#lib/delivery/direct/mta_sts.ts'
import { type DirectOptions, DirectTransport } from '#lib/delivery/direct/transport.ts'
import type { Outcome, Outgoing, Transport } from '#lib/delivery/transport.ts'
import { createLog } from '#lib/log.ts'
import { parseNetworks } from '#lib/net/client_address.ts'
import { createDns } from '#lib/net/dns.ts'
import { createResolve } from '#lib/net/fetch/resolve.ts'
import { MAIL_HOSTS, type MailHosts, openMailHosts } from '#test/support/dns/mail_hosts.ts'
import { type NameServer, startZone, type Zone } from '#test/support/dns/name_server.ts'
import { CERTIFICATE, KEY } from '#test/support/tls/certificate.ts'

/** About a second, instead of minutes as in production. */
const SHORT = {
  smtp: { connect: 500, message: 1_000, dot: 500 },
  dns: { try_ms: 100, tries: 2, deadline_ms: 400 },
  sts_ms: 1_000,
}

/** For tests in which no server hangs: on a busy machine TLS, and loading modules, takes seconds. */
export const PATIENT: typeof SHORT = {
  smtp: { connect: 10_000, message: 10_000, dot: 10_000 },
  dns: { try_ms: 500, tries: 2, deadline_ms: 2_000 },
  sts_ms: 10_000,
}

export type World = NameServer & {
  times: typeof SHORT
  hosts: MailHosts
  dns: DirectOptions['dns'] & StsOptions['dns']
  /** The lines of the log. */
  lines: string[]
  log: DirectOptions['log']
  /** A new transport, which shares no memory with others. */
  transport(options?: Partial<DirectOptions>): Transport
  send(transport: Transport, recipient: string, outgoing?: Partial<Outgoing>): Promise<Outcome>
}

/** A name server, mail servers of others, and transports to them. */
export async function openDirect(t: Test, zone: Zone = {}, times = SHORT): Promise<World> {
  const names = await startZone(t, zone)
  const hosts = await openMailHosts(t)
  const dns = createDns([names.server], times.dns)
  const lines: string[] = []
  const log = createLog('info', { write: line => lines.push(line) })
  return {
    ...names,
    times,
    hosts,
    dns,
    lines,
    log,
    transport(options = {}) {
      const transport = new DirectTransport({
        dns,
        policy: { allowed: parseNetworks(MAIL_HOSTS) },
        findPolicy: async () => null,
        log,
        helo_name: 'me.test',
        port: hosts.port,
        timeouts: times.smtp,
        connections: 40,
        limits: { connections: 20, per_minute: 0 },
        ...options,
      })
      t.teardown(() => transport.close())
      return transport
    },
    send: (transport, recipient, outgoing = {}) =>
      transport.deliver({
        account_id: '1',
        delivery_id: '2',
        mail_from: 'b@me.test',
        recipient,
        tls: 'opportunistic',
        transport: 'direct',
        message: { bytes: Buffer.from('Subject: x\r\n\r\nx\r\n') },
        fence: () => sleep(5, true),
        signal: new AbortController().signal,
        ...outgoing,
      }),
  }
}

/** Serves MTA-STS policies on 127.0.0.68 with the current `text`; `find` fetches them like a new process. */
export async function startPolicies(t: Test, { server, dns, log, times }: World) {
  const served = { text: '', type: 'text/plain', status: 200, requests: 0 }
  const https = createServer({ key: KEY, cert: CERTIFICATE }, (_, response) => {
    served.requests++
    response.writeHead(served.status, { 'content-type': served.type, location: '/' }).end(served.text)
  }).listen(0, '127.0.0.68')
  await once(https, 'listening')
  t.teardown(() => https.close())
  const { port } = https.address() as { port: number }
  const kept = new Map<string, StsPolicy>()
  const store = {
    find: async (domain: string) => kept.get(domain) ?? null,
    save: async (domain: string, policy: StsPolicy) => void kept.set(domain, policy),
  }
  const fetch = { ports: [port], allowed: parseNetworks('127.0.0.68'), resolve: createResolve([server]) }
  const start = () => createMtaSts({ dns, fetch, store, log, port, deadline_ms: times.sts_ms })
  return { served, kept, start }
}
