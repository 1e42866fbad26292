const OUTCOMES = ['delivered', 'opened', 'clicked', 'bounced', 'complained', 'suppressed'] as const

/** `unknown` is a mailbox at the simulator's domain without an outcome. */
export type SimulatedOutcome = (typeof OUTCOMES)[number] | 'unknown'

/**
 * Returns the outcome that the simulator plays for a recipient, or null if the recipient is not at the simulator's domain (both
 * domains in lower-case ASCII). The local part's case does not matter, and `delivered+label` is `delivered`.
 */
export function simulatedOutcome(
  recipient: { address: string; domain: string },
  simulator_domain: string,
): SimulatedOutcome | null {
  if (recipient.domain !== simulator_domain) return null
  const mailbox = /^[^+@]*/.exec(recipient.address)?.[0].toLowerCase()
  return OUTCOMES.find(outcome => outcome === mailbox) ?? 'unknown'
}
