import type { Config } from '#lib/config.ts'
import { deliverInTurn, type Relay } from '#lib/delivery/failover.ts'
import { RelayPlaces, RelayQueue } from '#lib/delivery/relay_queue.ts'
import { relayUrls } from '#lib/delivery/relay_urls.ts'
import { Silence } from '#lib/delivery/silence.ts'
import type { SmtpTimeouts } from '#lib/delivery/smtp/server.ts'
import { createSmtpTransport, relayServer } from '#lib/delivery/smtp/transport.ts'
import type { Transport } from '#lib/delivery/transport.ts'
import type { Log } from '#lib/log.ts'

/** Interval at which an unchanged state is reported again: rare enough for any load, often enough for its readers. */
const REPEAT_MS = 10_000

type Options = {
  config: Config
  log: Log
  timeouts: SmtpTimeouts
  /**
   * Called with the reason why no mail can be sent until the configuration is changed, and with null once it can be sent
   * again.
   */
  note: (fault: string | null) => Promise<void>
}

/**
 * The relays of the configuration, each with its own connections and breakers. Mail that requires TLS never uses a
 * connection without it.
 */
export function createRelays({ config, log, timeouts, note }: Options): Transport {
  const servers = relayUrls(config).map(url => relayServer(url, config.HELO_NAME))
  const report = watchFaults(servers.length, repeatSeldom(log, note))
  const connections = config.SEND_CONNECTIONS
  const queue = new RelayQueue<Relay>()
  const relays = { opportunistic: [] as Relay[], enforced: [] as Relay[] }
  const transports = servers.flatMap((server, i) => {
    const shared = { places: new RelayPlaces(connections, timeouts.stall), silence: new Silence() }
    const plain = createSmtpTransport(server, timeouts, connections, fault => report(i, fault))
    // A relay without TLS is at fault only for domains that require it, so no fault is reported here.
    const strict =
      server.secure || server.require_tls
        ? plain
        : createSmtpTransport({ ...server, require_tls: true, ignore_tls: false }, timeouts, connections)
    relays.opportunistic.push({ ...shared, deliver: plain.deliver })
    relays.enforced.push({ ...shared, deliver: strict.deliver })
    return [plain, strict]
  })
  return {
    concurrency: connections * servers.length,
    deliver: outgoing => deliverInTurn(queue, relays[outgoing.tls], outgoing),
    close() {
      for (const transport of transports) transport.close()
    },
  }
}

/** Reports a fault only if all relays have one: while any of them accepts mail, the others stop nothing. */
function watchFaults(
  count: number,
  report: (fault: string | null) => void,
): (relay: number, fault: string | null) => void {
  const faults = new Map<number, string | null>()
  return (relay, fault) => {
    faults.set(relay, fault)
    const known = [...faults.values()]
    if (known.includes(null)) report(null)
    else if (known.length === count) report(known.join(' '))
  }
}

function repeatSeldom(log: Log, note: Options['note']): (fault: string | null) => void {
  let last: string | null | undefined
  let told_at = Number.NEGATIVE_INFINITY
  return fault => {
    const now = performance.now()
    if (fault === last && now < told_at + REPEAT_MS) return
    if (fault !== null) log.error({ reason: fault }, 'the transport cannot work')
    last = fault
    told_at = now
    note(fault).catch(error => log.error({ err: error }, 'the state of the transport could not be stored'))
  }
}
