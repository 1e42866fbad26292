import { coalesce } from '../lib/coalesce.ts'
import type { Config } from '../lib/config.ts'
import type { Outgoing, Transport } from '../lib/deliver.ts'
import { createDirectTransport } from '../lib/direct/direct_transport.ts'
import { createMtaSts, type StsStore } from '../lib/direct/mta_sts.ts'
import { createDns } from '../lib/dns.ts'
import { fetchPolicy } from '../lib/fetch_safely.ts'
import type { Log } from '../lib/log.ts'
import { DEFAULT_TIMEOUTS, type SmtpTimeouts } from '../lib/smtp_server.ts'
import { createSmtpTransport, relayServer } from '../lib/smtp_transport.ts'
import { insertCapturedMessages } from '../sql/captured_messages.ts'
import { findMtaStsPolicy, upsertMtaStsPolicy } from '../sql/mta_sts_policies.ts'
import { setTransportFault } from '../sql/platform.ts'
import type { Pool } from '../sql/pool.ts'

/** What stays as it was is written again after this time: seldom enough for any load, in time for what reads it. */
const REPEAT_MS = 10_000

type Options = { config: Config; pool: Pool; log: Log; timeouts?: SmtpTimeouts | undefined }

/** The transport of this process, as MAIL_TRANSPORT says. */
export function createTransport(options: Options): Transport {
  const { config, pool, log, timeouts = DEFAULT_TIMEOUTS } = options
  if (config.MAIL_TRANSPORT === 'capture') return createCapture(pool)
  if (config.MAIL_TRANSPORT === 'direct') return createDirect(options)
  const server = relayServer(config.MAIL_TRANSPORT, config.HELO_NAME)
  return createSmtpTransport(server, timeouts, config.SEND_CONNECTIONS, createNote(pool, log))
}

function createDirect({ config, pool, log, timeouts = DEFAULT_TIMEOUTS }: Options): Transport {
  const dns = createDns(config.DNS_SERVERS)
  const store: StsStore = {
    find: domain => findMtaStsPolicy(pool, domain),
    save: (domain, policy) => upsertMtaStsPolicy(pool, domain, policy),
  }
  return createDirectTransport({
    dns,
    policy: { allowed: config.MX_ALLOW, denied: config.FETCH_DENY },
    findPolicy: createMtaSts({ dns, fetch: { ...fetchPolicy(config), ports: [443] }, store, log }),
    helo_name: config.HELO_NAME,
    port: config.MX_PORT,
    timeouts,
    connections: config.SEND_CONNECTIONS,
    limits: { connections: config.DESTINATION_CONNECTIONS, per_minute: config.DESTINATION_RATE },
    log,
  })
}

/** Notes for the web processes, which accept nothing meanwhile, that the transport cannot work, and that it does again. */
function createNote(pool: Pool, log: Log): (fault: string | null) => void {
  let last: string | null | undefined
  let noted_at = Number.NEGATIVE_INFINITY
  return fault => {
    const now = performance.now()
    if (fault === last && now < noted_at + REPEAT_MS) return
    if (fault !== null) log.error({ reason: fault }, 'the transport cannot work')
    last = fault
    noted_at = now
    setTransportFault(pool, fault).catch(error => log.error({ err: error }, 'the state of the transport is not noted'))
  }
}

/** Keeps the finished message instead of sending it: `npm run admin -- captured list`. */
function createCapture(pool: Pool): Transport {
  const store = coalesce<Outgoing, void>(
    async messages => {
      await insertCapturedMessages(pool, messages)
      return messages.map(() => undefined)
    },
    { in_flight: 2, max_items: 50, max_weight: 4 << 20, weigh: outgoing => outgoing.message.length },
  )
  return {
    concurrency: 100,
    async deliver(outgoing) {
      // No fence: storing it twice stores it once.
      await store(outgoing)
      return { outcome: 'delivered', reply: '250 2.0.0 Captured', via: 'capture' }
    },
    close() {},
  }
}
