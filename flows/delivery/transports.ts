import { coalesce } from '#lib/async/coalesce.ts'
import type { Config } from '#lib/config.ts'
import { createMtaSts, type StsStore } from '#lib/delivery/direct/mta_sts.ts'
import { DirectTransport } from '#lib/delivery/direct/transport.ts'
import { defaultTransport, relayUrls } from '#lib/delivery/relay_urls.ts'
import { DEFAULT_TIMEOUTS, type SmtpTimeouts } from '#lib/delivery/smtp/server.ts'
import type { Outgoing, Transport } from '#lib/delivery/transport.ts'
import type { Log } from '#lib/log.ts'
import { createDns } from '#lib/net/dns.ts'
import { fetchPolicy } from '#lib/net/fetch_safely.ts'
import { insertCapturedMessages } from '#sql/delivery/captured_messages.ts'
import { findMtaStsPolicy, upsertMtaStsPolicy } from '#sql/delivery/mta_sts_policies.ts'
import type { Pool } from '#sql/pool.ts'
import { markTransportFault, setTransportFault } from '#sql/safety/platform.ts'
import { createRelays } from './relays.ts'

type Options = { config: Config; pool: Pool; log: Log; timeouts?: SmtpTimeouts | undefined }
type TransportKind = NonNullable<Outgoing['transport']>

/** Selects the transport that the domain of the sender names, or else MAIL_TRANSPORT. Each is opened on first use. */
export function createTransport(options: Options): Transport {
  const usual = defaultTransport(options.config)
  const made = new Map<TransportKind, Transport>()
  let worker_count = 1
  const open = (kind: TransportKind): Transport => {
    const transport = made.get(kind) ?? makers[kind](options)
    made.set(kind, transport)
    transport.shareWith?.(worker_count)
    return transport
  }
  return {
    get concurrency() {
      return open(usual).concurrency
    },
    // A silent relay must not hold up direct mail, nor direct mail the relay.
    pool(transport) {
      const name = transport ?? usual
      return { name, slots: open(name).concurrency }
    },
    // Limits of a receiver's servers apply only to mail that goes there: each transport has lanes of its own.
    async route(destination, transport) {
      const kind = transport ?? usual
      const own = { lane: destination, isShared: false, wait: null }
      const route = (await open(kind).route?.(destination)) ?? own
      return { ...route, lane: `${kind} ${route.lane}` }
    },
    share(name) {
      const [kind, lane = ''] = name.split(' ')
      return open(kind as TransportKind).share?.(lane) ?? null
    },
    shareWith(workers) {
      worker_count = workers
      for (const transport of made.values()) transport.shareWith?.(workers)
    },
    deliver: outgoing => open(outgoing.transport ?? usual).deliver(outgoing),
    close() {
      for (const transport of made.values()) transport.close()
    },
  }
}

const makers: Record<TransportKind, (options: Options) => Transport> = {
  capture: ({ pool }) => createCapture(pool),
  relay: createRelay,
  direct: createDirect,
}

function createRelay(options: Options): Transport {
  const { config, pool, log, timeouts = DEFAULT_TIMEOUTS } = options
  if (relayUrls(config).length === 0) {
    return createMissing(options, 'Its domain asks for a relay, and this server has none: RELAY_URL is not set.')
  }
  // A fault of a relay that only some domains use must not stop the others.
  const note = defaultTransport(config) === 'relay' ? setTransportFault : async () => {}
  return createRelays({ config, log, timeouts, note: fault => note(pool, fault) })
}

function createDirect({ config, pool, log, timeouts = DEFAULT_TIMEOUTS }: Options): Transport {
  const dns = createDns(config.DNS_SERVERS)
  const store: StsStore = {
    find: domain => findMtaStsPolicy(pool, domain),
    save: (domain, policy) => upsertMtaStsPolicy(pool, domain, policy),
  }
  return new DirectTransport({
    dns,
    policy: { allowed: config.MX_ALLOW, denied: config.FETCH_DENY },
    findPolicy: createMtaSts({ dns, fetch: { ...fetchPolicy(config), ports: [443] }, store, log }),
    helo_name: config.HELO_NAME,
    port: config.MX_PORT,
    own_port: config.SMTP_PORT,
    timeouts,
    connections: config.SEND_CONNECTIONS,
    limits: { connections: config.DESTINATION_CONNECTIONS, per_minute: config.DESTINATION_RATE },
    log,
  })
}

/** Stands in for a transport that is not configured: mail waits, and no more is accepted for its domain. */
function createMissing({ config, pool, log }: Options, reason: string): Transport {
  return {
    concurrency: config.SEND_CONNECTIONS,
    async deliver(outgoing) {
      log.error({ delivery_id: outgoing.delivery_id, reason }, 'the transport of a domain is not configured')
      await markTransportFault(pool, outgoing.account_id, outgoing.delivery_id)
      return { outcome: 'deferred', class: 'infrastructure', reason }
    },
    close() {},
  }
}

/** Stores the finished message instead of sending it: `npm run admin -- captured list`. */
function createCapture(pool: Pool): Transport {
  const store = coalesce<Outgoing, void>(
    async messages => {
      await insertCapturedMessages(
        pool,
        messages.map(({ message, ...rest }) => ({ ...rest, message: message.bytes })),
      )
      return messages.map(() => undefined)
    },
    { in_flight: 2, max_items: 50, max_weight: 4 << 20, weigh: outgoing => outgoing.message.bytes.length },
  )
  return {
    concurrency: 100,
    async deliver(outgoing) {
      // No fence: storing the same message again has no effect.
      await store(outgoing)
      return { outcome: 'delivered', reply: '250 2.0.0 Captured', via: 'capture' }
    },
    close() {},
  }
}
