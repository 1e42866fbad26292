/** Links that differ for each recipient of an email, as placeholders name them (contract 8.1). */
export type PersonalLinks = { unsubscribe_url: string }

/** A variable of this name may have another value, given by the sender. */
const OPEN_KEY = 'unsubscribe_url'
const RESERVED_KEYS = ['UNSUBSCRIBE_URL', 'RESEND_UNSUBSCRIBE_URL']

/** Characters that a link has at most: a token of 442 for the longest address (unsubscribe_token.ts) behind a BASE_URL. */
const MAX_LINK = 1_000

/** A link of the greatest length: parts that fit with it fit with the link of any recipient. */
export const LONGEST_LINKS: PersonalLinks = { unsubscribe_url: 'https://'.padEnd(MAX_LINK, 'x') }

/** Returns the link that a key stands for; undefined: it stands for none. */
export function personalLink(key: string, { unsubscribe_url }: PersonalLinks): string | undefined {
  return key === OPEN_KEY || RESERVED_KEYS.includes(key) ? unsubscribe_url : undefined
}

/** Tells whether a key always stands for a link of ours, which needs no escaping in html. */
export function isReservedLink(key: string): boolean {
  return RESERVED_KEYS.includes(key)
}

/** No name of a personal link is longer. */
export const MAX_LINK_KEY = 'RESEND_UNSUBSCRIBE_URL'.length

/** Tells whether a source, or its bytes, has the name of a personal link, most likely in a placeholder. */
export function mentionsLink(source: { includes(text: string): boolean }): boolean {
  return source.includes(OPEN_KEY) || source.includes('UNSUBSCRIBE_URL')
}
