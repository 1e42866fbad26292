/**
 * Hashes of 32 bits of what emails are searched by: of text, the runs of one, two and three characters, whatever they are;
 * of addresses, tags and domains, each as a whole. All hold the account. Two alike by chance only cost a look in vain.
 */
export type SearchTerms = number[]

/** An email by what it is searched by. `text` is folded, a line for each value; `to` and `sender` are mailboxes. */
export type SearchedEmail = {
  text: string
  sender: string
  to: string[]
  domain_id: string | null
  tags: { name: string; value: string }[]
}

/** Text that differs in case only is the same, as it is for `fold_case` of sql/functions/search_emails.sql. */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ')
}

/** What a block holds of its emails (sql/migrations/0004_email_filters.sql). */
export type SearchedBlock = {
  /** To be searched by reading: of each email the id, a mark for each value, and its text; `\n\x1e` lies between two. */
  text: string
  /** To be searched by index. */
  terms: SearchTerms
}

/** What can be found of these emails of an account. No value has more than one line; addresses have no control characters. */
export function searchedBlock(account_id: string, emails: (SearchedEmail & { id: string })[]): SearchedBlock {
  const seed = hash(0, account_id)
  const terms = new Set<number>()
  for (const line of new Set(emails.flatMap(email => email.text.split('\n')))) {
    for (let end = 1; end <= line.length; end++) {
      for (let length = 1; length <= Math.min(3, end); length++) terms.add(hashRun(seed, line, end - length, end))
    }
  }
  const entries = emails.map(email => {
    const values = valuesOf(email).map(value => hash(seed, value))
    for (const term of values) terms.add(term)
    return email.id + values.map(toMark).join('') + email.text
  })
  return { text: entries.join('\n\x1e'), terms: [...terms] }
}

function valuesOf({ sender, to, domain_id, tags }: SearchedEmail): string[] {
  const names = tags.flatMap(({ name, value }) => [`tag:${name}`, `tag:${name}:${value}`])
  return [
    `domain:${domain_id}`,
    `from:${addressOf(sender)}`,
    ...to.map(mailbox => `to:${addressOf(mailbox)}`),
    ...names,
  ]
}

export type SearchedValues = {
  q?: string | undefined
  from?: string | undefined
  to?: string | undefined
  domain?: string | undefined
  /** `name` or `name:value`. */
  tag?: string | undefined
}

/** More runs of a text take longer to look up than they save. */
const MAX_RUNS = 16

/**
 * The terms of every block with an email that has all this, and the marks of the email. `q` is folded, addresses are in
 * lower case, `domain` is an id.
 */
export function searchedTerms(
  account_id: string,
  { q = '', ...values }: SearchedValues,
): { terms: SearchTerms; marks: string[] } {
  const seed = hash(0, account_id)
  const length = Math.min(3, q.length)
  const count = length === 0 ? 0 : q.length - length + 1
  const step = Math.max(1, count / MAX_RUNS)
  const terms = new Set<number>()
  for (let i = 0; i < count; i += step) terms.add(hashRun(seed, q, Math.floor(i), Math.floor(i) + length))
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  const hashes = given.map(([name, value]) => hash(seed, `${name}:${value}`))
  return { terms: [...terms, ...hashes], marks: hashes.map(toMark) }
}

/** Four characters for private use: the first nowhere else in a mark. */
function toMark(term: number): string {
  return String.fromCharCode(0xf000, 0xe000 + (term & 0x7ff), 0xe000 + ((term >>> 11) & 0x7ff), 0xe000 + (term >>> 22))
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
