import type { DomainFigures } from '#sql/campaigns/counts.ts'

/** With fewer recipients of a domain a rate says nothing. */
const DOMAIN_SAMPLE = 1_000
/** Shares of the recipients that complain: mailbox providers want fewer than 0.1 %, and block whoever has more than 0.3 %. */
const MANY = 0.001
export const TOO_MANY = 0.003

/** Says how many recipients of a domain's recent campaigns complained, if they are many. Null: they are few. */
export function describeComplaints({ sent, complained }: DomainFigures, share = MANY): string | null {
  if (sent < DOMAIN_SAMPLE || complained <= share * sent) return null
  return `${complained} of the ${sent} recipients of the domain's campaigns of the last 7 days complained.`
}
