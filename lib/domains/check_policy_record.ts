import { isIPv4, isIPv6 } from 'node:net'

const QUOTED = 'There are quotation marks in it that do not belong there: put the value in without them.'

/**
 * Returns why the TXT records at a name do not allow our servers to send (RFC 7208); null if they do. `value`: `v=spf1
 * include:<server> ~all`.
 */
export function findSpfFault(value: string, texts: string[]): string | null {
  const policies = texts.filter(isSpfPolicy)
  // Section 4.5: several records count as none.
  if (policies.length > 1) return 'There is more than one SPF record: combine them into one.'
  const [policy] = policies
  if (policy === undefined) {
    return texts.some(text => /^[\s"]+v=spf1/i.test(text)) ? QUOTED : 'There is a TXT record, but no SPF record.'
  }
  return findTermFault(policy) ?? whyNotIncluded(value.split(' ')[1] as string, policy.toLowerCase().split(/ +/))
}

/** A term of RFC 7208 section 12 with any name, which may have macros, and any address. */
const TERM = /^(?:[-+~?]?(?:all|(?:include|exists|ptr):.+|ptr|(?:a|mx)(?::.+)?|(ip[46]):(.+))|[a-z][\w.-]*=.*)$/i

/** Returns which term of an SPF record is invalid; null if none is. One of them makes the whole record fail (section 4.6). */
export function findTermFault(policy: string): string | null {
  const [, ...terms] = policy.split(/ +/)
  const wrong = terms.find(term => term !== '' && !isTerm(term))
  if (wrong === undefined) return null
  return `It has the invalid term ${wrong.replace(/[^\x21-\x7e]/g, '?').slice(0, 100)}, so receivers ignore all of it.`
}

function isTerm(term: string): boolean {
  const found = TERM.exec(term.replace(/^([-+~?]?(?:a|mx))\/[\d/]+$/i, '$1'))
  const [, family, network = ''] = found ?? []
  if (family === undefined) return found !== null && !/[,;]$/.test(term)
  const [address = '', bits = '0', ...more] = network.split('/')
  const [isAddress, most] = family.toLowerCase() === 'ip4' ? [isIPv4(address), 32] : [isIPv6(address), 128]
  return isAddress && /^\d{1,3}$/.test(bits) && Number(bits) <= most && more.length === 0
}

/** Tells whether a text is an SPF record (RFC 7208 section 4.5). */
export function isSpfPolicy(text: string): boolean {
  return /^v=spf1(?: |$)/i.test(text)
}

/** The first match decides (section 4.6.2): terms after an `all` are ignored. */
function whyNotIncluded(include: string, terms: string[]): string | null {
  const names = terms.map(term => term.replace(/^\+/, '').replace(/\.$/, ''))
  const at = names.indexOf(include)
  const all = names.findIndex(name => /^[-~?]?all$/.test(name))
  if (at === -1) {
    const qualified = names.find(name => name.slice(1) === include)
    return qualified ? `It says ${qualified}, which does not let us send: write ${include}.` : `It has no ${include}.`
  }
  return all !== -1 && all < at ? `Its ${include} comes after ${names[all]}, so receivers ignore it.` : null
}

/** Returns why the DMARC records of a name are not a valid policy (RFC 7489 sections 6.3 and 6.6.3); null if they are. */
export function findDmarcFault(policies: string[]): string | null {
  const [policy = '', another] = policies
  if (another !== undefined) return 'There is more than one DMARC record: leave only one.'
  if (policy.includes('"')) return QUOTED
  const [version = '', ...tags] = policy.split(';').map(tag => tag.replace(/\s+/g, ''))
  if (version !== 'v=DMARC1') return 'It must begin with `v=DMARC1;`, in exactly this case.'
  return tags.some(tag => /^p=(?:none|quarantine|reject)$/i.test(tag))
    ? null
    : 'It has no policy: p=none, p=quarantine or p=reject.'
}
