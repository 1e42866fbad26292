import type { SenderDomain } from '#flows/delivery/prepare/prepare_message.ts'
import type { Config } from '#lib/config.ts'
import { judgeReply } from '#lib/delivery/judge_reply.ts'
import { nextRetryDelay, retryDelay } from '#lib/delivery/retry_schedule.ts'
import type { Outcome, Refused } from '#lib/delivery/transport.ts'
import { newId } from '#lib/ids.ts'
import { isReservedDomain } from '#lib/mail/reserved_domains.ts'
import { returnPathLocal } from '#lib/mail/return_path.ts'
import { simulatedOutcome } from '#lib/mail/simulator.ts'
import type { Secrets } from '#lib/secrets.ts'
import type { ClaimedDelivery, DeliveryResult } from '#sql/delivery/deliveries.ts'
import { ComposeError, UnsendableError } from './errors.ts'

/** Maximum attempts to compose a message. The cause may be temporary: memory, a file path that does not respond, a bug. */
const COMPOSE_ATTEMPTS = 3

/** Pause after something could not be read. */
const RELEASE_SECONDS = 10

/** An email in doubt is sent again after this time. */
export const RESEND_AFTER_SECONDS = 15 * 60

/** The same reasons as for recipients dropped at acceptance (sql/sending/accept/store_drafts.sql). */
const RESERVED = 'The domain is reserved for documentation and tests.'
const SUPPRESSED = 'The address is on the suppression list.'
const UNSUBSCRIBED = 'The recipient is not subscribed to the topic.'
const LEFT = 'The recipient has unsubscribed.'
const STOPPED = 'The automation was stopped.'
const PAUSED = 'Sending was paused or canceled before it left.'

/** Only for the simulator: it suppresses no address. */
const NO_SUCH_USER = judgeReply('550 5.1.1 Simulated: no such user', 'rcpt')

/**
 * Decides deliveries that need no message: simulated recipients, domains that must not get mail, addresses that were
 * suppressed or left the topic since the email was accepted, and mail of stopped runs. Returns null if the delivery
 * must be sent.
 */
export function decideUnsent(delivery: ClaimedDelivery, config: Config): DeliveryResult | null {
  const address = { address: delivery.recipient, domain: delivery.destination }
  if (delivery.is_stopped) return { outcome: 'canceled', reason: STOPPED }
  switch (simulatedOutcome(address, config.SIMULATOR_DOMAIN)) {
    case null:
      // Acceptance checks this too; this is the last check, for deliveries that were queued by other means.
      if (isReservedDomain(delivery.destination)) return { outcome: 'suppressed', reason: RESERVED }
      if (delivery.suppressed) return { outcome: 'suppressed', reason: SUPPRESSED }
      if (delivery.has_left) return { outcome: 'suppressed', reason: LEFT }
      if (delivery.unsubscribed) return { outcome: 'suppressed', reason: UNSUBSCRIBED }
      return null
    case 'delivered':
    // Their opens and clicks are simulated after delivery (play_recipient.ts).
    case 'opened':
    case 'clicked':
      return { outcome: 'delivered', reply: '250 2.0.0 Simulated', via: 'simulator' }
    case 'complained':
      return { outcome: 'complained', reply: '250 2.0.0 Simulated', via: 'simulator' }
    case 'suppressed':
      return { outcome: 'suppressed', reason: 'Simulated suppression.' }
    case 'bounced':
      return { ...NO_SUCH_USER, reason: 'Simulated bounce.' }
    case 'unknown':
      return { ...NO_SUCH_USER, reason: 'The simulator has no such mailbox.' }
  }
}

/** Returns the result of a delivery that its fence refused, as if it had been claimed only then. */
export function decideRefused(delivery: ClaimedDelivery, config: Config): DeliveryResult {
  return decideUnsent(delivery, config) ?? { outcome: 'released', reason: PAUSED }
}

/** Returns the envelope sender of one delivery: its local part identifies the delivery and is signed (VERP). */
export function returnPath(delivery: ClaimedDelivery, sender: SenderDomain, config: Config, secrets: Secrets): string {
  return `${returnPathLocal(delivery.id, secrets)}@${sender.return_path ?? config.RETURN_PATH_DOMAIN ?? sender.name}`
}

/** Turns an outcome of the transport into the result of the delivery: when it is due again, whether it suppresses. */
export function judge(outcome: Outcome, delivery: ClaimedDelivery, config: Config): DeliveryResult {
  switch (outcome.outcome) {
    case 'deferred':
      return { ...storedFields(outcome), delay: nextRetryDelay(delivery.attempt, outcome.retry_after) }
    case 'bounced':
      return { ...storedFields(outcome), suppression_id: newId() }
    case 'failed':
      return storedFields(outcome)
    case 'in_doubt':
      return { ...outcome, delay: RESEND_AFTER_SECONDS, hold: isHeld(delivery, config) }
    default:
      return outcome
  }
}

/** Returns true for mail of campaigns and marketing automations, which is sent after all other mail. */
export function isBulk({ priority }: Pick<ClaimedDelivery, 'priority'>): boolean {
  return priority > 0
}

/**
 * Returns true if mail in doubt waits for a person. Mail of an automation is one email to one person, so it counts as
 * single mail.
 */
export function isHeld({ is_campaign }: { is_campaign: boolean }, { IN_DOUBT, IN_DOUBT_CAMPAIGNS }: Config): boolean {
  return (is_campaign ? IN_DOUBT_CAMPAIGNS : IN_DOUBT) === 'hold'
}

/** Returns the stored fields of a refusal. */
function storedFields({ is_about_server: _, retry_after: __, ...refused }: Refused): DeliveryResult {
  return refused
}

/** Returns true if the email itself is at fault. The reason is stored with it, so the log need not have it. */
export function isUnsendable(error: unknown): boolean {
  return error instanceof UnsendableError
}

/** Returns the result of an error while preparing: final if the email itself is at fault, else another attempt. */
export function judgeError(error: unknown, delivery: ClaimedDelivery): DeliveryResult {
  const reason = error instanceof Error ? error.message : String(error)
  if (isUnsendable(error)) return { outcome: 'failed', reason }
  // The email is not at fault: the database or a key could not be read. This uses up no attempt.
  if (!(error instanceof ComposeError)) return { outcome: 'released', reason, delay: RELEASE_SECONDS }
  if (delivery.attempt >= COMPOSE_ATTEMPTS) return { outcome: 'failed', reason }
  return { outcome: 'deferred', reason, delay: retryDelay(delivery.attempt) }
}
