type Tags = Partial<Record<string, string>>

/**
 * Returns why the TXT records at a selector are not the record `value`, by the tags of RFC 6376 section 3.6.1; null if they are.
 */
export function findDkimFault(value: string, texts: string[]): string | null {
  const expected = tagsOf(value)
  if (isSplit(expected, texts)) return SPLIT
  const keys = texts.map(tagsOf).filter(tags => tags.p !== undefined)
  const [key, another] = keys
  if (!key) return 'There is a TXT record, but it has no key: p= is missing.'
  // It is undefined which of several keys is used (section 3.6.2.2).
  if (another) return `There are ${keys.length} keys: leave only one.`
  return whyNotKey(expected, key) ?? whyNotUsable(key)
}

const SPLIT =
  'The key is split over several records: it must be one record, of several strings of at most 255 characters if need be.'
const QUOTED = 'There are quotation marks or backslashes in it that do not belong there: put the value in without them.'

function whyNotKey(expected: Tags, { p = '', k = 'rsa' }: Tags): string | null {
  if (p === expected.p) return k === expected.k ? null : `It says k=${shown(k)} where k=${expected.k} is meant.`
  if (p === '') return 'The key is revoked: its p= is empty.'
  const bare = p.replace(/["\\]/g, '')
  if (bare !== p && expected.p?.startsWith(bare)) return QUOTED
  if (expected.p?.startsWith(p)) return `The key is cut off after ${p.length} of ${expected.p.length} characters.`
  return 'It has another key.'
}

/** Returns why receivers would reject a record with the right key; null if they would not. */
function whyNotUsable({ v = 'DKIM1', h, s }: Tags): string | null {
  if (v !== 'DKIM1') return `It says v=${shown(v)} where v=DKIM1 is meant.`
  if (h !== undefined && !h.split(':').includes('sha256')) return 'Its h= leaves out sha256.'
  const services = s?.split(':') ?? ['*']
  return services.includes('*') || services.includes('email') ? null : 'Its s= leaves out email.'
}

/** Tells whether the records contain the key in pieces, in any order. */
function isSplit(expected: Tags, texts: string[]): boolean {
  const pieces = texts.map(text => (tagsOf(text).p ?? text).replace(/[\s"\\]/g, ''))
  const found = pieces.filter(piece => piece.length >= MIN_PIECE && expected.p?.includes(piece))
  return found.length > 1 && found.reduce((sum, piece) => sum + piece.length, 0) === expected.p?.length
}

const MIN_PIECE = 8

/** Parses tags. Ignores white space anywhere, and a quotation mark before a name. */
function tagsOf(text: string): Tags {
  const tags = text.split(';').map(tag => tag.split(/=(.*)/s).map(part => part.replace(/\s+/g, '')))
  return Object.fromEntries(tags.map(([name = '', value = '']) => [name.replace(/^"/, ''), value]))
}

/** Returns text that is safe to show and store. */
function shown(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, '?').slice(0, 30)
}
