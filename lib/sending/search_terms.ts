/**
 * Hashes of 32 bits of what emails are searched by: of text, the runs of one, two and three characters, whatever they are;
 * of addresses, tags and domains, each as a whole. All hold the account. Two alike by chance only cost a look in vain.
 */
type SearchTerms = number[]

/** An email by what it is searched by. `text` is folded, a line for each value; `to` and `sender` are mailboxes. */
export type SearchedEmail = {
  text: string
  sender: string
  to: string[]
  domain_id: string | null
  template_id: string | null
  tags: { name: string; value: string }[]
}

/** What a block holds of its emails (sql/migrations/0004_email_filters.sql). */
export type SearchedBlock = {
  ids: string[]
  /** To be searched by reading: of each email its text, a mark for each value, its place in `ids`, and an end. */
  text: string
  /** To be searched by index. */
  terms: SearchTerms
}

/** What can be found of these emails of an account, 2,303 at the most. No value has more than one line. */
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
    return `${withoutOurs(email.text)}\n${marks.join('')}${String.fromCharCode(0xf000 + i)}\uf8ff`
  })
  return { ids: emails.map(email => email.id), text: entries.join(''), terms: [...terms] }
}

type Kind = 'from' | 'to' | 'domain' | 'template' | 'tag'

/** In the order of their marks: a search splits the text by the first that it has, and finds the others after it. */
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
 * What an email is to have: `q`, folded, and one value of each kind: addresses in lower case, ids, a tag as `name` or
 * `name:value`.
 */
export type SearchedValues = { q?: string | undefined } & { [kind in Kind]?: string | undefined }

export type Searched = {
  /** Those of every block with such an email. */
  terms: SearchTerms
  /** What every such email has in the text of its block, and a pattern of the marks that come after it there. */
  needle: string | undefined
  marks: string
}

/** More runs of a text take longer to look up than they save. */
const MAX_RUNS = 16

export function searchedTerms(account_id: string, { q = '', ...values }: SearchedValues): Searched {
  const seed = hash(0, account_id)
  const length = Math.min(3, q.length)
  const count = length === 0 ? 0 : q.length - length + 1
  const step = Math.max(1, count / MAX_RUNS)
  const terms = new Set<number>()
  for (let i = 0; i < count; i += step) terms.add(hashRun(seed, q, Math.floor(i), Math.floor(i) + length))
  const found = q === '' ? [] : [withoutOurs(q)]
  for (const kind of KINDS.filter(kind => values[kind] !== undefined)) {
    const term = hash(seed, `${kind}:${values[kind]}`)
    terms.add(term)
    found.push(toMark(kind, term))
  }
  const [needle, ...marks] = found
  return { terms: [...terms], needle, marks: ['', ...marks, ''].join('%') }
}

/** The same of a text and of what is looked for in it, so that it is still found; whatever else it finds is looked at. */
function withoutOurs(text: string): string {
  return text.replaceAll(/\p{Co}/gu, '?')
}

/** Two characters for private use, each of a range of its own. Two kinds are never alike, which keeps their order. */
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

/** As MurmurHash3 mixes (public domain, A. Appleby), a UTF-16 unit at a time. */
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
