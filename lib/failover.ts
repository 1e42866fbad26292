import type { Outcome, Outgoing, Transport } from './deliver.ts'

/**
 * Tries servers in order, each message anew: the next one only when the one before said nothing of the message, and has not
 * been let past its fence. So the first has all mail again as soon as it lives, which its breaker finds out.
 */
export async function deliverInTurn(transports: Transport[], outgoing: Outgoing): Promise<Outcome> {
  let isFenced = false
  const fence = () => {
    isFenced = true
    return outgoing.fence()
  }
  const reasons: string[] = []
  let outcome: Outcome | undefined
  for (const transport of transports) {
    outcome = await transport.deliver({ ...outgoing, fence })
    if (outcome.outcome !== 'deferred' || !outcome.is_unanswered) return outcome
    reasons.push(outcome.reason)
    if (isFenced) break
  }
  if (!outcome) throw new Error('there is no server to try')
  return { ...outcome, reason: reasons.join(' ') } as Outcome
}
