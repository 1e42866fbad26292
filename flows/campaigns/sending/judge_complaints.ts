import type { DomainFigures } from '#sql/campaigns/counts.ts'

/** Recipients of a domain below which a rate is not significant. */
const DOMAIN_SAMPLE = 1_000
/** Complaint rates: mailbox providers want less than 0.1 %, and block senders above 0.3 %. */
const MANY = 0.001
export const TOO_MANY = 0.003

/** Describes the complaints about the recent campaigns of a domain; null if there are few. */
export function describeComplaints({ sent, complained }: DomainFigures, share = MANY): string | null {
  if (sent < DOMAIN_SAMPLE || complained <= share * sent) return null
  return `${complained} of the ${sent} recipients of the domain's campaigns of the last 7 days complained.`
}
