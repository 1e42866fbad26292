import { domainOf } from '#lib/mail/address.ts'
import type { RelayPlaces, RelayQueue } from './relay_queue.ts'
import type { Silence } from './silence.ts'
import type { Outcome, Outgoing } from './transport.ts'

/** One of several servers that take the same mail. */
export type Relay = { places: RelayPlaces; silence: Silence; deliver(outgoing: Outgoing): Promise<Outcome> }

/**
 * Tries the relays in order, starting from the first for each message. The next one is tried if the relay failed or takes no
 * mail from us, and the message has not passed its fence, or if the relay is stalled. So the first relay gets all mail again as soon as its circuit
 * breakers find that it works.
 */
export async function deliverInTurn(
  queue: RelayQueue<Relay>,
  relays: readonly Relay[],
  outgoing: Outgoing,
): Promise<Outcome> {
  let isFenced = false
  const fence = () => {
    isFenced = true
    return outgoing.fence()
  }
  const reasons: string[] = []
  for (let untried = relays; ; ) {
    const relay = await queue.take(untried, domainOf(outgoing.recipient), outgoing.signal)
    if (!relay) return { outcome: 'released', reason: 'The worker stopped.' }
    const outcome = await deliverBy(queue, relay, { ...outgoing, fence })
    if (outcome.outcome !== 'deferred' || !outcome.is_about_server) return outcome
    reasons.push(outcome.reason)
    untried = untried.filter(other => other !== relay)
    if (isFenced || untried.length === 0) return { ...outcome, reason: reasons.join(' ') }
  }
}

/** Holds a connection slot of the relay until it replies or the message is set aside. */
async function deliverBy(queue: RelayQueue<Relay>, relay: Relay, outgoing: Outgoing): Promise<Outcome> {
  const { places, silence } = relay
  const destination = domainOf(outgoing.recipient)
  let isEnded = false
  let isFree = false
  const free = (isAnswered: boolean) => {
    if (isFree) return
    isFree = true
    queue.free(relay, destination, isEnded, isAnswered)
  }
  const fence = async () => {
    const allowed = await outgoing.fence()
    if (allowed) {
      isEnded = true
      places.ended()
    }
    return allowed
  }
  const onSilence = () => {
    const isAside = outgoing.onSilence?.() === true
    if (isAside) free(false)
    return isAside
  }
  try {
    const closed = silence.refuses(places.total)
    if (closed) return { outcome: 'deferred', class: 'infrastructure', is_about_server: true, reason: closed }
    const told = { ...outgoing, fence, onSilence }
    return (await silence.watch(told, places.total, async message => ({ outcome: await relay.deliver(message) })))
      .outcome
  } finally {
    free(true)
  }
}
