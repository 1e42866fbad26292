import type { PrepareMessage } from '#flows/delivery/prepare/prepare_message.ts'
import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import { coalesce } from '#lib/async/coalesce.ts'
import { now } from '#lib/clock.ts'
import type { Config } from '#lib/config.ts'
import { newId } from '#lib/ids.ts'
import type { Log } from '#lib/log.ts'
import { simulatedOutcome } from '#lib/mail/simulator.ts'
import type { Secrets } from '#lib/secrets.ts'
import { parseLinkToken, parseRecipientToken } from '#lib/tracking/tracking_tokens.ts'
import type { ClaimedDelivery } from '#sql/delivery/deliveries.ts'
import type { Pool } from '#sql/pool.ts'
import { recordHits, type TrackingHit } from '#sql/tracking/hits.ts'

const PIXEL = /\/t\/o\/([\w-]+)\.gif/
const LINK = /\/t\/c\/([\w-]+)\/([\w-]+)/

/** Fields of a simulated hit; it comes from this machine, since no request made it. */
const PLAYED = { class: 'human', rule: 'simulator', ip: '127.0.0.1', user_agent: 'Mailbrook simulator' } as const

/** Maximum number of emails whose hits are recorded per statement. */
const MAX_EMAILS = 100

type Dependencies = { pool: Pool; log: Log; config: Config; secrets: Secrets; prepareMessage: PrepareMessage }

export type PlayRecipient = (delivery: ClaimedDelivery) => Promise<void>

/**
 * Simulates a person at the simulator's mailboxes `opened` and `clicked` after an email is delivered: finds the pixel
 * and the first tracked link in its message and records hits on them. Does nothing for other recipients or for mail
 * without tracking.
 */
export function createPlayRecipient({ pool, log, config, secrets, prepareMessage }: Dependencies): PlayRecipient {
  const readTokenKeys = createReadTokenKeys({ pool, secrets })
  // Recorded in batches, as real hits are: one by one they would take all connections of the worker.
  const record = coalesce<TrackingHit[], void>(
    async hits => {
      await recordHits(pool, hits.flat())
      return hits.map(() => undefined)
    },
    { in_flight: 1, max_items: MAX_EMAILS },
  )

  const readHits = async (delivery: ClaimedDelivery, outcome: 'opened' | 'clicked'): Promise<TrackingHit[]> => {
    const prepared = await prepareMessage({ account_id: delivery.account_id, id: delivery.email_id })
    const { simpleParser } = await import('mailparser') // few workers ever need it
    const { html } = await simpleParser(await prepared.compose(delivery))
    const keys = await readTokenKeys()
    const [, open = ''] = PIXEL.exec(html || '') ?? []
    const [, link = '', click = ''] = (outcome === 'clicked' && LINK.exec(html || '')) || []
    const opener = parseRecipientToken(open, 'open', keys)
    const clicker = parseRecipientToken(click, 'click', keys)
    const clicked = parseLinkToken(link, keys)
    const played = () => ({ ...PLAYED, id: newId(), created_at: now() })
    return [
      ...(opener ? [{ ...opener, ...played(), type: 'open' as const }] : []),
      ...(clicker && clicked ? [{ ...clicker, ...clicked, ...played(), type: 'click' as const }] : []),
    ]
  }

  return async delivery => {
    const recipient = { address: delivery.recipient, domain: delivery.destination }
    const outcome = simulatedOutcome(recipient, config.SIMULATOR_DOMAIN)
    if (outcome !== 'opened' && outcome !== 'clicked') return
    try {
      const hits = await readHits(delivery, outcome)
      if (hits.length > 0) await record(hits)
    } catch (error) {
      log.warn({ err: error, delivery_id: delivery.id }, 'the simulator could not open an email')
    }
  }
}
