/**
 * 32-bit hashes by which emails are searched: for text, of all runs of one, two and three characters; for addresses, tags and
 * domains, of each as a whole. All include the account. A collision only costs a useless look-up.
 */
type SearchTerms = number[]

/** The searchable values of an email. `text` is folded, with a line per value; `to` and `sender` are mailboxes. */
export type SearchedEmail = {
  text: string
  sender: string
  to: string[]
  domain_id: string | null
  template_id: string | null
  tags: { name: string; value: string }[]
}

/** The data that a block stores about its emails (sql/migrations/0004_email_filters.sql). */
export type SearchedBlock = {
  ids: string[]
  /** Searched by LIKE. For each email: its text, a line break, a mark per value, a character for its index in `ids`, and an end. */
  text: string
  /** Searched by an index of the table. */
  terms: SearchTerms
}

/** Returns the searchable block for these emails of an account, at most 2,303. A value has at most one line. */
export function searchedBlock(account_id: string, emails: (SearchedEmail & { id: string })[]): SearchedBlock {
  const seed = hash(0, account_id)
  const terms = new Set<number>()
  for (const line of new Set(emails.flatMap(email => email.text.split('\n')))) {
    for (let end = 1; end <= line.length; end++) {
      for (let length = 1; length <= Math.min(3, end); length++) terms.add(hashRun(seed, line, end - length, end))
    }
  }
  const entries = emails.map((email, i) => {
    const marks = valuesOf(email).map(([kind, value]) => {
      const term = hash(seed, `${kind}:${value}`)
      terms.add(term)
      return toMark(kind, term)
    })
    return `${withoutPrivateUse(email.text)}\n${marks.join('')}${String.fromCharCode(0xf000 + i)}\uf8ff`
  })
  return { ids: emails.map(email => email.id), text: entries.join(''), terms: [...terms] }
}

type Kind = 'from' | 'to' | 'domain' | 'template' | 'tag'

/** In the order of their marks: a search splits the text by its first mark, and finds the others after it. */
const KINDS: Kind[] = ['from', 'to', 'domain', 'template', 'tag']

function valuesOf({ sender, to, domain_id, template_id, tags }: SearchedEmail): [Kind, string][] {
  const values: Record<Kind, string[]> = {
    from: [addressOf(sender)],
    to: to.map(addressOf),
    domain: domain_id ? [domain_id] : [],
    template: template_id ? [template_id] : [],
    tag: tags.flatMap(({ name, value }) => [name, `${name}:${value}`]),
  }
  return KINDS.flatMap(kind => values[kind].map((value): [Kind, string] => [kind, value]))
}

/**
 * The values that an email must have: `q`, folded, and one value of each kind: addresses in lower case, ids, a tag as `name` or
 * `name:value`.
 */
export type SearchedValues = { q?: string | undefined } & { [kind in Kind]?: string | undefined }

export type Searched = {
  /** Every block with such an email has all of these. */
  terms: SearchTerms
  /** Text that every such email has in its block, and a LIKE pattern of the marks that follow it there. */
  needle: string | undefined
  marks: string
}

/** Maximum number of runs of a text to look up: more take longer than they save. */
const MAX_RUNS = 16

export function searchedTerms(account_id: string, { q = '', ...values }: SearchedValues): Searched {
  const seed = hash(0, account_id)
  const length = Math.min(3, q.length)
  const count = length === 0 ? 0 : q.length - length + 1
  const step = Math.max(1, count / MAX_RUNS)
  const terms = new Set<number>()
  for (let i = 0; i < count; i += step) terms.add(hashRun(seed, q, Math.floor(i), Math.floor(i) + length))
  const found = q === '' ? [] : [withoutPrivateUse(q)]
  for (const kind of KINDS.filter(kind => values[kind] !== undefined)) {
    const term = hash(seed, `${kind}:${values[kind]}`)
    terms.add(term)
    found.push(toMark(kind, term))
  }
  const [needle, ...marks] = found
  return { terms: [...terms], needle, marks: ['', ...marks, ''].join('%') }
}

/**
 * Replaces private use characters in a text and in a search alike, so that it is still found; false matches are filtered later.
 */
function withoutPrivateUse(text: string): string {
  return text.replaceAll(/\p{Co}/gu, '?')
}

/**
 * Returns a mark of two private use characters, each from a separate range. Marks of different kinds always differ, which
 * preserves their order.
 */
function toMark(kind: Kind, term: number): string {
  const first = KINDS.indexOf(kind) * 0x100 + (term & 0xff)
  return String.fromCharCode(0xe000 + first, 0xe800 + ((term >>> 8) & 0x7ff))
}

function addressOf(mailbox: string): string {
  return (mailbox.endsWith('>') ? mailbox.slice(mailbox.lastIndexOf('<') + 1, -1) : mailbox).toLowerCase()
}

function hash(seed: number, text: string): number {
  return hashRun(seed, text, 0, text.length)
}

/** MurmurHash3 (public domain, A. Appleby), one UTF-16 unit at a time. */
function hashRun(seed: number, text: string, start: number, end: number): number {
  let h = seed
  for (let i = start; i < end; i++) {
    const k = Math.imul(text.charCodeAt(i), 0xcc9e2d51)
    h ^= Math.imul((k << 15) | (k >>> 17), 0x1b873593)
    h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0
  }
  h ^= end - start
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
