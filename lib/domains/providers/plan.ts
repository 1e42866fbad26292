import { findSpfFault, findTermFault, isSpfPolicy } from '#lib/domains/check_policy_record.ts'
import type { DomainRecord } from '#lib/domains/domain_records.ts'

/** A record in a zone. `value` is a text without quotes, or a name in lower case without a trailing dot. */
export type ZoneRecord = { type: string; name: string; value: string }

/** The step for a wanted record. `message` says why nothing is done. */
export type Step =
  | { act: 'add' }
  | { act: 'replace'; found: ZoneRecord; value: string }
  | { act: 'skip'; message: string }

const THERE = 'It is there already.'

/**
 * Returns the step that makes a record exist, given all records of its name. Records that are not ours are never removed or
 * changed, except for an SPF policy: only one is allowed, so our part is added to it.
 */
export function planRecord(wanted: DomainRecord, found: ZoneRecord[]): Step {
  const alias = found.find(({ type }) => type === 'CNAME')
  if (wanted.type === 'CNAME') return planAlias(wanted, alias, found)
  if (alias) return skip(`There is a CNAME record for ${alias.value} at this name, beside which there can be no other.`)
  const others = found.filter(({ type }) => type === wanted.type)
  return wanted.type === 'MX' ? planMx(wanted, others) : planText(wanted, others)
}

function planAlias({ value }: DomainRecord, alias: ZoneRecord | undefined, found: ZoneRecord[]): Step {
  if (alias) return skip(alias.value === value ? THERE : `There is a CNAME record for ${alias.value} at this name.`)
  const [other] = found
  return other ? skip(`There is another record (${other.type}) at this name.`) : { act: 'add' }
}

function planMx({ value }: DomainRecord, others: ZoneRecord[]): Step {
  if (others.some(other => other.value === value)) return skip(THERE)
  const [other] = others
  return other ? skip(`Mail to this name goes to ${other.value}.`) : { act: 'add' }
}

function planText(wanted: DomainRecord, others: ZoneRecord[]): Step {
  if (others.some(({ value }) => value === wanted.value)) return skip(THERE)
  if (wanted.record === 'SPF') return planSpf(wanted, others)
  const kind = wanted.record === 'DKIM' ? /^\s*v=DKIM1|(?:^|;)\s*p=/i : /^\s*v=DMARC1/i
  const other = others.find(({ value }) => kind.test(value))
  if (!other) return { act: 'add' }
  if (wanted.record === 'DMARC') return skip('There is a DMARC policy already.')
  return keyOf(other.value) === keyOf(wanted.value) ? skip(THERE) : skip('There is another key at this name.')
}

/** The key of a DKIM record (RFC 6376 section 3.6.1), which may be written with spaces. */
function keyOf(text: string): string | undefined {
  return /(?:^|;)\s*p\s*=([^;]*)/i.exec(text)?.[1]?.replace(/\s+/g, '')
}

/** RFC 7208 section 4.5: several policies count as none. Ours goes first, since terms after `all` are ignored. */
function planSpf({ value: wanted }: DomainRecord, others: ZoneRecord[]): Step {
  const policies = others.filter(({ value }) => isSpfPolicy(value))
  const [policy] = policies
  if (!policy) return { act: 'add' }
  if (policies.length > 1) return skip('There are several SPF policies at this name, but only one is allowed.')
  const [, include = ''] = wanted.split(' ')
  const [version, ...terms] = policy.value.split(/\s+/)
  if (findSpfFault(wanted, [policy.value]) === null) return skip(THERE)
  const fault = findTermFault(policy.value)
  if (fault) return skip(`There is an SPF policy at this name. ${fault}`)
  const rest = terms.filter(term => term.toLowerCase() !== include)
  return { act: 'replace', found: policy, value: [version, include, ...rest].join(' ') }
}

function skip(message: string): Step {
  return { act: 'skip', message }
}
