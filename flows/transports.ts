import { coalesce } from '../lib/coalesce.ts'
import type { Config } from '../lib/config.ts'
import type { Outgoing, Transport } from '../lib/deliver.ts'
import { createDirectTransport } from '../lib/direct/direct_transport.ts'
import { createDns } from '../lib/dns.ts'
import type { Log } from '../lib/log.ts'
import { DEFAULT_TIMEOUTS, type SmtpTimeouts } from '../lib/smtp_server.ts'
import { createSmtpTransport, relayServer } from '../lib/smtp_transport.ts'
import { insertCapturedMessages } from '../sql/captured_messages.ts'
import { setTransportFault } from '../sql/platform.ts'
import type { Pool } from '../sql/pool.ts'

/** What stays as it was is written again after this time: seldom enough for any load, in time for what reads it. */
const REPEAT_MS = 10_000

type Options = { config: Config; pool: Pool; log: Log; timeouts?: SmtpTimeouts | undefined }

/** The transport of this process, as MAIL_TRANSPORT says. */
export function createTransport({ config, pool, log, timeouts = DEFAULT_TIMEOUTS }: Options): Transport {
  if (config.MAIL_TRANSPORT === 'capture') return createCapture(pool)
  if (config.MAIL_TRANSPORT === 'direct') return createDirect(config, timeouts)
  const server = relayServer(config.MAIL_TRANSPORT, config.HELO_NAME)
  return createSmtpTransport(server, timeouts, config.SEND_CONNECTIONS, createNote(pool, log))
}

function createDirect(config: Config, timeouts: SmtpTimeouts): Transport {
  return createDirectTransport({
    dns: createDns(config.DNS_SERVERS),
    policy: { allowed: config.MX_ALLOW, denied: config.FETCH_DENY },
    helo_name: config.HELO_NAME,
    port: config.MX_PORT,
    timeouts,
    connections: config.SEND_CONNECTIONS,
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
