import { coalesce } from '../lib/coalesce.ts'
import type { Config } from '../lib/config.ts'
import type { Outgoing, Transport } from '../lib/deliver.ts'
import { DEFAULT_TIMEOUTS, type SmtpTimeouts } from '../lib/smtp_server.ts'
import { createSmtpTransport, relayServer } from '../lib/smtp_transport.ts'
import { insertCapturedMessages } from '../sql/captured_messages.ts'
import type { Pool } from '../sql/pool.ts'

/** The transport of this process, as MAIL_TRANSPORT says. */
export function createTransport(config: Config, pool: Pool, timeouts: SmtpTimeouts = DEFAULT_TIMEOUTS): Transport {
  if (config.MAIL_TRANSPORT === 'capture') return createCapture(pool)
  return createSmtpTransport(relayServer(config.MAIL_TRANSPORT, config.HELO_NAME), timeouts, config.SEND_CONNECTIONS)
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
