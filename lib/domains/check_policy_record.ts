const QUOTED = 'There are quotation marks in it that do not belong there: put the value in without them.'

/** Why the texts at a name do not let our servers send (RFC 7208); null: they do. `value`: `v=spf1 include:<server> ~all`. */
export function whyNotSpf(value: string, texts: string[]): string | null {
  const policies = texts.filter(isSpfPolicy)
  // Section 4.5: more than one record is none.
  if (policies.length > 1) return 'There is more than one SPF record: put what they say into one.'
  const [policy] = policies
  if (policy === undefined) {
    return texts.some(text => /^[\s"]+v=spf1/i.test(text)) ? QUOTED : 'There is a text, but no SPF record.'
  }
  return whyNotIncluded(value.split(' ')[1] as string, policy.toLowerCase().split(/ +/))
}

/** Whether a text is an SPF record (RFC 7208 section 4.5). */
export function isSpfPolicy(text: string): boolean {
  return /^v=spf1(?: |$)/i.test(text)
}

/** What stands first decides (section 4.6.2): after an `all` nothing is read. */
function whyNotIncluded(include: string, terms: string[]): string | null {
  const names = terms.map(term => term.replace(/^\+/, '').replace(/\.$/, ''))
  const at = names.indexOf(include)
  const all = names.findIndex(name => /^[-~?]?all$/.test(name))
  if (at === -1) {
    const turned = names.find(name => name.slice(1) === include)
    return turned ? `It says ${turned}, which does not let us send: write ${include}.` : `It has no ${include}.`
  }
  return all !== -1 && all < at ? `Its ${include} stands after ${names[all]}, where nothing is read.` : null
}

/** Why the DMARC records of a name are no policy (RFC 7489 sections 6.3 and 6.6.3); null: they are. */
export function whyNotDmarc(policies: string[]): string | null {
  const [policy = '', another] = policies
  if (another !== undefined) return 'There is more than one DMARC record: leave only one.'
  if (policy.includes('"')) return QUOTED
  const [version = '', ...tags] = policy.split(';').map(tag => tag.replace(/\s+/g, ''))
  if (version !== 'v=DMARC1') return 'It must begin with v=DMARC1; in these letters.'
  return tags.some(tag => /^p=(?:none|quarantine|reject)$/i.test(tag))
    ? null
    : 'It has no policy: p=none, p=quarantine or p=reject.'
}
